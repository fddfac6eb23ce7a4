/*
id: A7
definition: A record was known, then absent from a read of its offset, and then there again.
explanation: >-
  A value was acknowledged or delivered; later a group was delivered another value of a later epoch
  at its offset; yet at the end the log has the first value, or a group was delivered it later
  still. Or a group came to the end of the log below it, under a later epoch that had started at or
  below its offset, and at the end the log has it; then it counts as known if it was delivered, or
  acknowledged with acks=all. A read that went past the offset and saw nothing proves no absence:
  `poll_skip` evaluates that.
evaluates: every delivery.
source: KIP-101; KIP-966.
needs: [polls, sends]
evaluated: select coalesce(sum(records), 0) as evaluated from deliveries
tree: true
cases:
- permitted: came back
  when: permit is not null
  cause: >-
    {records} records of epoch {leader_epoch} reappeared after epoch {other_epoch} had been read
    {was}; {permit.words}
- undecided: came back
  when: is_unreported
  cause: >-
    {records} records of epoch {leader_epoch} reappeared after epoch {other_epoch} had been read
    {was}; how the leader was elected is not known
- violation: came back
  cause: >-
    {records} records of epoch {leader_epoch} reappeared after epoch {other_epoch} had been read
    {was}
evidence: records, leader_epoch, other_epoch, permit
*/
with replaced as (
  select own.*, least(own.first_micros, own.answered_micros) as known_micros, other.value as other,
    other.leader_epoch as other_epoch, group, min(polled_micros) as absent_micros
  from rival_values as own
  join rival_values as other
    on (other.topic, other.partition, other.offset) = (own.topic, own.partition, own.offset)
    and other.value != own.value and other.leader_epoch > own.leader_epoch
  join sliced_polls as p on (p.topic, p.partition, p.offset, p.leader_epoch, p.value)
    = (other.topic, other.partition, other.offset, other.leader_epoch, other.value)
  group by all
),
known as (
  select topic, partition, offset, value, polled_micros as known_micros from sliced_polls
  union all
  select topic, partition, offset, value, answered_micros
  from sliced_acknowledged
  where acks = 'all'
),
back as (
  select topic, partition, offset, last_offset, leader_epoch, other_epoch, is_kept,
    'in their place' as was, min(absent_micros) as at, min(group) as group
  from replaced
  where known_micros + :clock_micros < absent_micros
    and (is_kept or last_micros > absent_micros + :clock_micros)
  group by all
  union all
  select topic, partition, offset, last_offset, leader_epoch, other_epoch, true, 'to its end',
    min(at_micros), min(group)
  from records_beyond_ends join known using (topic, partition, offset, value)
  where known_micros + :clock_micros < at_micros
  group by all
),
-- A leader that brings old records back starts its epoch behind them: no offset is above it.
judged as (
  select * from {{ with_permit("(select * from back left join timelines using (topic, partition))",
    "if(is_kept, other_epoch, leader_epoch)", "array_max(timeline).leader_epoch", 2 ** 62 ~ "L") }}
)
select *
from {{ spans("judged", "topic, partition, leader_epoch, other_epoch, was, permit, is_unreported,
  group", "min(at) as at,") }}
