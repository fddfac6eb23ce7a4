/*
about: The log start and the log end of each replica.
subject: replicas
kept: false
columns: |
  topic string
  partition int
  broker int
  log_start_offset bigint
  log_end_offset bigint
  batches_end bigint: the offset after its last batch; null if it has no batch
*/
select topic, partition, broker, log_start_offset, log_end_offset, batches_end
from log_starts left join ends_of_batches using (topic, partition, broker)
