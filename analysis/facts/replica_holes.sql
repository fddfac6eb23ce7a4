/*
about: Offsets between two batches of a replica, of which its log has no batch.
subject: replicas
*/
with followed as (
  select topic, partition, broker, base_offset, max(last_offset) over (
      partition by topic, partition, broker order by base_offset
      rows between unbounded preceding and 1 preceding) as reached
  from replica_batches
)
select topic, partition, broker, reached + 1 as hole_first, base_offset - 1 as hole_last
from followed
where base_offset > reached + 1
