/*
about: |
  One row per assignment of a partition to a member, as the member noticed it: `assignments` without
  what was delivered.
subject: assignments
columns:
  from_micros: when it was noticed
  position: of the member then, after its first poll
  generation: of the group, or the member's epoch; -1 where not known
  left_micros: when the member noticed that it was revoked or lost, or closed; null if it never
    did
*/
with assigned as (
  select group, topic, partition, member, seq as from_seq, at_micros as from_micros, position,
    coalesce(generation, -1) as generation,
    lead(seq) over (partition by group, topic, partition, member order by seq) as next_seq
  from group_events
  where change = 'assigned'
),
ends as (
  select group, member, seq, at_micros, if(change = 'closed', null, topic) as left_topic,
    if(change = 'closed', null, partition) as left_partition
  from group_events
  where change in ('revoked', 'lost', 'closed')
),
ended as (
  select group, topic, partition, member, from_seq, min(at_micros) as left_micros
  from assigned join ends using (group, member)
  where seq > from_seq and coalesce(seq < next_seq, true)
    and coalesce(left_topic = topic and left_partition = partition, true)
  group by all
)
select assigned.* except (next_seq), left_micros
from assigned left join ended using (group, topic, partition, member, from_seq)
