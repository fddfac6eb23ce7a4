/*
about: The log start and the log end of each replica.
subject: replicas
columns:
  batches_end: the offset after its last batch; null if it has no batch
*/
with ends_of_batches as (
  select topic, partition, broker, max(last_offset) + 1 as batches_end
  from replica_batches
  group by all
)
select topic, partition, broker, log_start_offset, log_end_offset, batches_end
from log_starts left join ends_of_batches using (topic, partition, broker)
