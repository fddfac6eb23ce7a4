/*
id: D5
definition: Two members of a group owned a partition at the same time.
explanation: >-
  Both were assigned it under one generation (or member epoch), before the first gave it back: a
  violation. Under different ones, the older member learns only when it polls that it was expelled,
  which is no fault of the group. If a generation is not known, both were delivered its records at
  the same time. A partition that a KIP-848 member keeps across member epochs counts only under the
  one in which it was assigned: two owners of such a partition are not found. A static member that
  is started again keeps its partitions under the same generation. With the classic protocol
  another process with its group.instance.id takes its place at once: the older one may deliver
  what it has until the response to its next request, for 1 s more if that is a refusal, or for 3 s
  (`heartbeat.interval.ms`) if none is on record. Whatever the generations, a member is delivered
  nothing more of a partition that it
  has given back, or for which the coordinator has refused its commit as that of no member, once
  another member was assigned it.
permitted: >-
  a generation is not known, and a fault was in force between the first assignment and the end of
  the overlap; or its commit was refused, and a fault was in force: a client that does not reach
  its coordinator goes on with what it has.
undecided: a generation is not known, and the overlap is no longer than the clock bound; or the
  older process of a group.instance.id delivered for longer, and no request of it is on record; or
  its commit was refused more than 1 s before, and its client rejoins in a thread of its own.
evaluates: pairs of assignments of a partition to different members.
source: >-
  KIP-345, KIP-429, KIP-848: a partition is assigned only after its owner gave it up;
  `ConsumerRebalanceListener`; `ConsumerCoordinator.onJoinPrepare`.
needs: [group_events, polls]
evaluated: select count(*) as evaluated from rival_assignments
exercised: shared_partitions
cases:
- violation: after its revocation
  when: learned_by = 'it was revoked'
  cause: >-
    {member} received {records} records, {seconds:.1f} s after {learned_by}; {other} had been assigned
    the partition
- undecided: after a refusal
  when: learned_by is not null and not is_at_once
  cause: >-
    {member} received {records} records, {seconds:.1f} s after {learned_by}; {other} had been assigned
    the partition
  permitted_if: seconds <= 1
- violation: after a refusal
  when: learned_by is not null
  cause: >-
    {member} received {records} records, {seconds:.1f} s after {learned_by}; {other} had been assigned
    the partition
  permitted_if: faults > 0
- violation: one generation
  when: is_same
  cause: '{member} and {other} were both assigned the partition in generation {generation}'
  undecided_if: is_unsure
- undecided: overlap
  when: is_close
  cause: '{member} received records for {overlap_ms:.0f} ms after {other} had received its first'
- violation: overlap
  cause: '{member} received records for {overlap_ms:.0f} ms after {other} had received its first'
  permitted_if: faults > 0
evidence: member, generation, other, other_generation, overlap_ms, faults, records
place:
  at: at_micros
*/
with found as (
  select group, topic, partition, member, generation, other, other_generation, is_same,
    is_replaced and learned_micros is null as is_unsure, null as learned_by, null as records,
    null as offset_first, null as offset_last, from_micros as since_micros,
    if(is_overlapping, other_first, other_from) as at_micros,
    if(is_overlapping, least(last_micros, other_last), other_from) as until_micros
  from rival_assignments
  where is_same or is_overlapping and not is_older
  union all
  select group, topic, partition, member, null, other, null, null, null, learned_by, records,
    offset_first, offset_last, learned_micros, first_micros, last_micros
  from deliveries_after_loss
),
judged as (
  select found.*, count(injected_micros) as faults
  from found left join held_faults
    on injected_micros <= until_micros and coalesce(ended_micros >= since_micros, true)
  group by all
)
select judged.*, coalesce(client = 'java', false) as is_at_once,
  until_micros - at_micros <= :clock_micros as is_close,
  (until_micros - since_micros) / {{ micros_per_second }} as seconds,
  if(learned_by is null, (until_micros - at_micros) / 1000, null) as overlap_ms
from judged left join planned_groups using (group)
