/*
about: |
  From where on records may be gone with a permit.

  The lowest start of an epoch whose election permits a loss, or is not known; 0 where it is not
  known where it started. Only partitions that had such an election.
subject: permits
*/
with either as (
  select topic, partition, number as epoch from permits where cause = 'election'
  union all
  select topic, partition, cast(epoch as bigint) from present_elections where kind = 'unknown'
)
select topic, partition,
  min(coalesce(array_min(filter(timeline, one -> one.leader_epoch = epoch)).start_low, 0))
    as permitted_from
from either left join timelines using (topic, partition)
group by all
