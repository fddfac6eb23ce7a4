/*
about: |
  The partition of `__consumer_offsets` of each group.

  As its commits tell, else by the hash of its id (`GroupMetadataManager.partitionFor`).
subject: commits
columns:
  offsets_partition: 'null: of a group that the plan does not have, without a commit'
*/
with stored as (
  select group, min(offsets_partition) as offsets_partition from all_offsets group by all
),
counted as (
  select max(partition) + 1 as count from leaderships where topic = {{ offsets_topic }}
)
select group, coalesce(offsets_partition, hash % count) as offsets_partition
from (select distinct group, hash from planned_groups)
full outer join stored using (group)
cross join counted
