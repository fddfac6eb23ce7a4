/*
about: Each leader epoch with the next one; a topic that was created again is another topic.
subject: leader_epochs
columns:
  broker: its leader
  newer_epoch: the next one; null of the last
  until_micros: when that began
*/
with compared as (
  select topic, partition, leader_epoch as epoch, leader as broker, at_micros as from_micros,
    metadata_offset,
    lag(leader_epoch) over (partition by topic, partition order by metadata_offset) as last_epoch
  from leaderships
),
followed as (
  select *, lead(epoch) over in_log as next_epoch, lead(from_micros) over in_log as next_micros
  from compared
  where last_epoch is null or last_epoch != epoch
  window in_log as (partition by topic, partition order by metadata_offset)
)
select topic, partition, epoch, broker, from_micros,
  if(next_epoch > epoch, next_epoch, null) as newer_epoch,
  if(next_epoch > epoch, next_micros, null) as until_micros
from followed
