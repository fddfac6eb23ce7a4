/*
about: The offset after the last batch of each replica.
subject: replicas
columns: |
  topic string
  partition int
  broker int
  batches_end bigint
*/
select topic, partition, broker, max(last_offset) + 1 as batches_end
from replica_batches
group by all
