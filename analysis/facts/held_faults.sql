/*
about: When each fault held; a reassignment also while it was undone.
subject: faults
kept: false
columns:
  target: in words
  brokers: servers that the target named; empty if it names none
  target_group: the group that it named
  target_worker: of the clients that it named
  injected_micros: just before it was applied
  ended_micros: 'when it was over; null: it held to the end'
  is_instant: it was over when its effect was seen
*/
with named as (
  select *, {{ target_words }} as target, group as target_group, worker as target_worker,
    fault in ({{ instant_faults }}) or fault = 'kill' and target_kind = 'client' as is_instant
  from faults
)
select fault, target, target_kind, brokers, target_group, target_worker, injected_micros,
  if(is_instant, coalesce(proved_micros, healed_micros), healed_micros) as ended_micros, is_instant
from named
union all
select fault, target, target_kind, brokers, target_group, target_worker, heal_began_micros,
  healed_micros, is_instant
from named
where fault = 'reassign' and heal_began_micros is not null
