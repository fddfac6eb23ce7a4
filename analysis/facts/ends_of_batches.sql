/*
about: The offset after the last batch of each replica.
subject: replicas
*/
select topic, partition, broker, max(last_offset) + 1 as batches_end
from replica_batches
group by all
