/*
id: A4
definition: A group was delivered a record again, or one value at several offsets.
undecided: a guest may have been reset unseen between the polls.
evaluates: every delivery.
source: >-
  Kafka's documentation, Message Delivery Semantics: delivery is at least once; `KafkaConsumer`: a
  position moves past each record that poll returns.
needs: [polls]
evaluated: select coalesce(sum(records), 0) as evaluated from deliveries
cases:
- violation: within a session
  cause: delivered again in one session, without a reset or a rebalance
  undecided_if: may_be_reset
- permitted: redelivered
  cause: 'at-least-once delivery: the group returned to an earlier position'
- permitted: at several offsets
  cause: 'at-least-once delivery: the value is in the log more than once'
evidence: records, deliveries
*/
with again as (
  select group, topic, partition, offset, r.last_offset, deliveries,
    if(max(offset between first_offset and prev_offset), 'within a session', 'redelivered') as kind,
    coalesce(bool_and(seq != prev_seq), false) as is_between
  from repeated_slices as r
  left join (select * from jumps_back where not is_commit) as j using (group, topic, partition)
  group by all
),
several as (
  select group, topic, partition, value, max(offset) as offset, max(last_offset) as last_offset,
    count(distinct offset) as deliveries
  from sliced_polls
  where is_intact
  group by all
),
repeated as (
  select * from again
  union all
  select group, topic, partition, offset, last_offset, deliveries, 'at several offsets', false
  from several
  where deliveries > 1
),
judged as (
  select repeated.*, is_between and hidden_reset is not null as may_be_reset
  from repeated left join planned_groups using (group)
)
select * from {{ spans("judged", "group, topic, partition, deliveries, kind, may_be_reset") }}
