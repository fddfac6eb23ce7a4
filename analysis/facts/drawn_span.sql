/*
about: |
  The time that pages draw, one row: from the end of the start to the last event. Null where a run
  has no event.
subject: drawn
optional: [phases, faults, leaderships, sends, polls, committed_offsets, samples]
*/
with times as (
  select explode(array(began_micros, ended_micros)) as at_micros from phases
  union all
  select explode(array(injected_micros, proved_micros, heal_began_micros, healed_micros))
  from faults
  union all
  select at_micros from leaderships
  union all
  select explode(array(intended_micros, answered_micros)) from sends
  union all
  select polled_micros from polls
  union all
  select committed_micros from committed_offsets
  union all
  select at_micros from samples
),
started as (
  select min(began_micros) as started_micros from phases where stage != 'starting'
)
select coalesce(max(started_micros), min(at_micros)) as begin_micros, max(at_micros) as end_micros
from times cross join started
