/*
about: When each member was open.
subject: drawn
optional: [group_events]
columns:
  until_micros: null where it was open to the end
  ended_by: closed or failed; null where it was open to the end
  first_micros: of the first event of the member
*/
with changes as (
  select group, member, change, at_micros,
    min(at_micros) over (partition by group, member) as first_micros,
    lead(change) over in_order as next_change, lead(at_micros) over in_order as next_micros
  from group_events
  where change in ('opened', 'closed', 'failed')
  window in_order as (partition by group, member order by seq)
)
select group, member, at_micros as from_micros,
  if(next_change = 'opened', null, next_micros) as until_micros,
  if(next_change = 'opened', null, next_change) as ended_by, first_micros
from changes
where change = 'opened'
