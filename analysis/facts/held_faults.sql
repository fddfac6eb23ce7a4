/*
about: When each fault held; a reassignment also while it was undone.
subject: faults
kept: false
columns: |
  fault string
  target string
  brokers array<int>: that the target names, such as `all (brokers 1, 2, 3)`; null if it names none
  injected_micros bigint: just before it was applied
  ended_micros bigint: when it was over; null: it held to the end
  is_instant boolean: it was over when its effect was seen
*/
with named as (
  select *,
    coalesce(fault in ({{ instant_faults }}) or fault = 'kill' and target like 'client:%', false)
      as is_instant,
    nullif(regexp_extract(target, '[(]brokers? ([0-9, ]+)[)]', 1), '') as numbers
  from faults
),
held as (
  select fault, target, numbers, injected_micros, is_instant,
    if(is_instant, coalesce(proved_micros, healed_micros), healed_micros) as ended_micros
  from named
  union all
  select fault, target, numbers, heal_began_micros, is_instant, healed_micros
  from named
  where fault = 'reassign' and heal_began_micros is not null
)
select *, transform(split(numbers, ', '), one -> cast(one as int)) as brokers from held
