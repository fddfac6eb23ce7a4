/*
about: How each group ended last.
subject: positions
kept: false
columns:
  last_change: '`polled` where nothing was reported after the last poll: the member was killed'
*/
with ends as (
  select group, member, change, at_micros, seq
  from group_events
  where change in ('caught_up', 'stalled', 'failed')
  union all
  select group, member, 'polled', at_micros, seq from deliveries
)
select group, max_by(change, struct(at_micros, seq)) as last_change,
  max_by(member, struct(at_micros, seq)) as last_member
from ends
group by group
