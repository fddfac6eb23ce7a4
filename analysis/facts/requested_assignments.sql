/*
about: |
  Commit requests of members of the consumer protocol whose last state has the partition assigned.
subject: commit_calls
columns:
  assignment_epoch: the member epoch at which it was assigned; null where the release does not
    keep it
*/
with assigned as (
  select group, member, topic_id, partition as assigned_partition, assignment_epoch,
    offsets_offset, at_micros as assigned_micros
  from group_members
  where protocol = 'consumer'
),
last_assigned as (
  select *, max(offsets_offset) over (partition by {{ commit_call }}) as last_offset
  from commit_requests join assigned using (group, member)
  where assigned_micros <= at_micros + :clock_micros
)
select {{ commit_call }}, max(assignment_epoch) as assignment_epoch
from last_assigned left semi join creations using (topic, topic_id)
where offsets_offset = last_offset and assigned_partition = partition
group by all
