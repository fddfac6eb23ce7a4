/*
about: The epoch under which a value that did not survive stood at its offset, anywhere.
subject: acknowledgements
columns:
  held_by: the brokers whose replicas held it before they were truncated; null if none
*/
with held as (
  select topic, partition, offset, value, leader_epoch, cast(null as int) as broker
  from sliced_polls
  union all
  select topic, partition, offset, value, leader_epoch, null from sliced_replica_records
  union all
  select topic, partition, offset, value, leader_epoch, broker from sliced_cut_records
)
select topic, partition, offset, value, max(leader_epoch) as seen_epoch,
  if(count(broker) > 0, sort_array(collect_set(broker)), null) as held_by
from held left semi join not_surviving using (topic, partition, offset, value)
group by all
