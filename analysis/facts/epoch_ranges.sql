/*
about: Each leader epoch in the log of a replica, and where its batches begin and end.
subject: replicas
columns:
  last_offset: inclusive
*/
select
  broker, topic, partition, leader_epoch,
  min(base_offset) as base_offset, max(last_offset) as last_offset
from replica_batches
group by all
