-- One row per group of returned_reader: where its second member began, and what became of the commit
-- of 100. The offset of a member that was delivered nothing is that of its own position.
with acknowledged as (
  select group, max_by(offset, seq) as due_offset, max(committed_micros) as due_micros
  from commits
  where member like '%#1' and outcome = 'ok'
  group by all
),
returned as (
  select group, max(offset < due_offset) as is_reached
  from wire_calls join acknowledged using (group)
  where api = 'OFFSET_FETCH' and not is_stable and error_code = 0 and began_micros >= due_micros
  group by all
),
read as (
  select group, min_by(first_offset, struct(seq, first_place)) as first_offset
  from polls
  where member like '%#2'
  group by all
),
reached as (
  select group, min_by(position, seq) as position
  from group_events
  where member like '%#2' and change = 'caught_up'
  group by all
),
next_commits as (
  select group, min_by(offset, seq) as next_offset
  from commits
  where member like '%#2' and outcome = 'ok'
  group by all
)
select group, coalesce(is_reached, false) as is_reached, due_offset,
  coalesce(first_offset, position) as began_at, next_offset
from acknowledged
left join returned using (group)
left join read using (group)
left join reached using (group)
left join next_commits using (group)
order by due_micros
