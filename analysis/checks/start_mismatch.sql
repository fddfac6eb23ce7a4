/*
id: D7
definition: A member's first position on a partition is not the offset that its group had
  committed.
explanation: The first position is that of the first delivery, or the member's own if there was
  none. A start behind the commit is a mismatch. A start ahead of it is one only if the group
  thereby never got records, or if an aborted transaction had stored that offset and the group
  thereby went past records that it would have got again. A commit that was lost since may have
  been in force then, so that a start there is right, too.
permitted: the member was reset after its previous assignment and before that delivery.
evaluates: every assignment with a commit before it.
source: '`ConsumerCoordinator.initWithCommittedOffsetsIfNeeded`.'
needs: [group_events, committed_offsets, polls]
evaluated: select count(*) as evaluated from commits_at_start
exercised: resumed_positions
cases:
- permitted: '{reset_cause}'
  when: reset_cause is not null
  cause: the member began at {start}, but the group had committed {committed_offset}; a reset
    moved the position
- violation: ahead
  when: start > committed_offset and is_aborted
  cause: the member began at {start}, but the group had committed {committed_offset}; an aborted
    transaction had committed that position
- violation: behind
  when: is_aborted
  cause: the member began at {start}, but the group had committed {committed_offset}; an aborted
    transaction had committed that position
- violation: ahead
  when: start > committed_offset
  cause: the member began at {start}, but the group had committed {committed_offset}
- violation: behind
  cause: the member began at {start}, but the group had committed {committed_offset}
evidence: member, start, committed_offset, committed_epoch, reset_cause, records
place:
  offset_first: least(start, committed_offset)
  offset_last: greatest(start, committed_offset)
  at: coalesce(first_micros, from_micros)
*/
with starts as (
  select *, coalesce(first_offset, position) as start from commits_at_start
),
apart as (
  select * from starts where start != committed_offset and coalesce(start != gone_offset, true)
),
resets_before as (
  select group, topic, partition, member, from_seq, max_by(cause, at_micros) as reset_cause
  from apart join client_resets using (group, topic, partition, member)
  where at_micros > coalesce(before_micros, 0)
    and at_micros <= coalesce(first_micros, from_micros) + {{ commit_clock_micros }}
  group by all
),
never as (
  select distinct group, topic, partition, offset, records from never_delivered
),
gaps as (
  select group, topic, partition, member, from_seq, sum(records) as records
  from apart join never using (group, topic, partition)
  where offset >= committed_offset and offset < start
  group by all
),
-- Where an aborted transaction had stored the start, and the group had a record before it.
aborted as (
  select distinct a.group, a.topic, a.partition, a.member, a.from_seq, true as is_aborted
  from apart as a
  join all_offsets as o
    on (o.group, o.topic, o.partition, o.offset) = (a.group, a.topic, a.partition, a.start)
  join deliveries as d on (d.group, d.topic, d.partition) = (a.group, a.topic, a.partition)
  where marker = 'abort' and not is_tombstone and o.committed_micros <= from_micros
    and last_offset >= committed_offset and d.first_offset < start and at_micros <= from_micros
)
select apart.*, reset_cause, coalesce(records, 0) as records,
  coalesce(is_aborted, false) as is_aborted
from apart
left join resets_before using (group, topic, partition, member, from_seq)
left join gaps using (group, topic, partition, member, from_seq)
left join aborted using (group, topic, partition, member, from_seq)
where start < committed_offset or reset_cause is not null or records > 0 or is_aborted
