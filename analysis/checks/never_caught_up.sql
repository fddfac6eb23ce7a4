/*
id: H6
definition: A replica of a partition with a leader is out of the ISR when collecting begins.
permitted: its broker is fenced; a fault holds; or 30 s or less have passed since the replica was
  added or left the ISR, its broker came into service and the last fault was healed.
undecided: the metadata log has no state of its broker; or a broker reported a later leader epoch of
  the partition than the metadata log has.
evaluates: every replica of a partition with a leader.
source: '`replica.lag.time.max.ms`.'
needs: [leaderships, broker_states]
evaluated: select count(*) as evaluated from assigned
optional: [samples]
exercised: isr_shrinkings
cases:
- permitted: fenced
  when: is_fenced
  cause: broker {broker} was not in the ISR {to_json(isr)} at the end, {seconds:.1f} s after it
    could return
- violation: in service
  cause: broker {broker} was not in the ISR {to_json(isr)} at the end, {seconds:.1f} s after it
    could return
  permitted_if: holding > 0 or seconds <= required_seconds
  undecided_if: is_fenced is null or is_cut_off
evidence: broker, isr, is_fenced, holding, seconds
place:
  at: since
*/
with last as (
  select topic, partition, max(at_micros) as last_micros,
    max_by(struct(leader, leader_epoch, isr, replicas), metadata_offset) as state
  from leaderships
  group by all
),
assigned as (
  select topic, partition, state.isr as isr, explode(state.replicas) as broker
  from last
  where state.leader >= 0
),
out as (
  select * from assigned where not array_contains(isr, broker)
),
-- The metadata log that was collected may end too early.
reported_later as (
  select distinct topic, partition, true as is_cut_off
  from last join samples using (topic, partition)
  where leader_epoch > state.leader_epoch and at_micros > last_micros + :clock_micros
),
left_isr as (
  select topic, partition, broker,
    coalesce(
      max(at_micros) filter (where
        array_contains(was.isr, broker) and not array_contains(changed.isr, broker)
        or not array_contains(was.replicas, broker) and array_contains(replicas, broker)),
      min(at_micros)) as since
  from out join leadership_changes as changed using (topic, partition)
  group by all
),
states as (
  select broker, max_by(is_fenced, metadata_offset) as is_fenced, max(at_micros) as changed_micros
  from broker_states
  group by all
),
last_fault as (
  select max(ended_micros) as healed_micros, count_if(ended_micros is null) as holding
  from held_faults
),
collecting as (
  select min(began_micros) as collected_micros from phases where stage = 'collecting'
)
select *, {{ required_seconds }} as required_seconds,
  greatest(0, coalesce(collected_micros, run_ended_micros)
    - greatest(since, changed_micros, healed_micros)) / {{ micros_per_second }} as seconds
from out
join left_isr using (topic, partition, broker)
left join reported_later using (topic, partition)
left join states using (broker)
cross join last_fault
cross join collecting
cross join run_conditions
