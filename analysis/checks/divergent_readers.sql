/*
id: B5
definition: Two groups went past one offset and were not delivered the same record there.
explanation: Either both were delivered a record, and some value by one group only. Or within a
  session a member went past a record that one of another group was delivered at the same isolation,
  in an epoch between those around it.
permitted: different values, as in `inconsistent_offset`; the group went on at its commit, as in
  `poll_skip`.
undecided: different values, as in `inconsistent_offset`; a guest may have been reset or have joined
  again unseen, as in `poll_skip`.
evaluates: deliveries of partitions that several groups read.
source: "Kafka's documentation, Replication: only committed records are given to consumers."
needs: [polls, group_events, leaderships]
evaluated: |
  select coalesce(sum(records), 0) as evaluated
  from (
    select sum(records) as records, count(distinct group) as readers
    from deliveries
    group by topic, partition)
  where readers > 1
later_epoch: epoch_last
cases:
- permitted: different values
  when: explanation = 'the topic was created again'
  cause: >-
    {records} offsets have different values, of epochs {epoch_first} to {epoch_last}: {explanation}
- violation: different values
  when: explanation = 'under one epoch'
  cause: >-
    {records} offsets have different values, of epochs {epoch_first} to {epoch_last}: {explanation}
  undecided_if: epoch_first < 0
- permitted: different values
  when: permit is not null
  cause: >-
    {records} offsets have different values, of epochs {epoch_first} to {epoch_last}: {explanation};
    {permit.words}
  undecided_if: epoch_first < 0
- undecided: different values
  when: is_unreported
  cause: >-
    {records} offsets have different values, of epochs {epoch_first} to {epoch_last}: {explanation};
    how the leader was elected is not known
  permitted_if: is_not_required
- violation: different values
  cause: >-
    {records} offsets have different values, of epochs {epoch_first} to {epoch_last}: {explanation}
  permitted_if: is_not_required
- permitted: delivered to one
  when: is_commit and not is_within
  cause: group {group} went on at its commit, past {records} records that group {other} received
  evidence: records, other
- violation: delivered to one
  cause: group {group} skipped {records} records that group {other} received
  undecided_if: hidden_reset is not null and not is_within
  evidence: records, other
evidence: records, epoch_first, epoch_last, readers, permit
*/
with delivered as (
  select * from rival_values where groups is not null
),
readings as (
  select topic, partition, offset, value, explode(groups) as reader from delivered
),
apart as (
  select topic, partition, offset
  from readings
  group by all
  -- Some value was delivered to some of the groups only.
  having count(distinct struct(value, reader)) < count(distinct value) * count(distinct reader)
),
different as (
  select * from delivered left semi join apart using (topic, partition, offset)
),
others as (
  select s.*, d.group as other
  from passed_slices as s
  join sliced_polls as d
    on (d.topic, d.partition, d.offset) = (s.topic, s.partition, s.offset)
  left join committed_members as own on (own.group, own.member) = (s.group, s.member)
  left join committed_members as its on (its.group, its.member) = (d.group, d.member)
  where (own.member is null) = (its.member is null) and {{ is_on_branch() }}
),
-- What came later in the same poll, in the wrong order, was given to both.
given_to_one as (
  select * from others left anti join sliced_polls using (group, topic, partition, offset)
)
select 'different values' as kind, topic, partition, offset_first, offset_last, at, records,
  cast(null as string) as group, cast(null as string) as other, epoch_first, epoch_last, readers,
  explanation, is_not_required, permit, is_unreported, false as is_commit, false as is_within,
  cast(null as string) as hidden_reset
from {{ several_values("different") }}
union all
select 'delivered to one', topic, partition, offset_first, offset_last, at, records, group, other,
  null, null, null, null, null, null, null, is_commit, is_within, hidden_reset
from {{ spans("given_to_one", "topic, partition, group, other, is_commit, is_within",
  "min(at_micros) as at,") }}
left join (select group, hidden_reset from planned_groups) using (group)
