/*
about: When each fault held; a reassignment also while it was undone.
subject: faults
kept: false
columns:
  target: in words
  brokers: servers that the target named; empty if it names none
  injected_micros: just before it was applied
  ended_micros: 'when it was over; null: it held to the end'
  is_instant: it was over when its effect was seen
*/
with named as (
  select *, {{ target_words }} as target,
    fault in ({{ instant_faults }}) or fault = 'kill' and target_kind = 'client' as is_instant
  from faults
)
select fault, target, target_kind, brokers, injected_micros,
  if(is_instant, coalesce(proved_micros, healed_micros), healed_micros) as ended_micros, is_instant
from named
union all
select fault, target, target_kind, brokers, heal_began_micros, healed_micros, is_instant
from named
where fault = 'reassign' and heal_began_micros is not null
