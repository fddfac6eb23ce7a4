/*
about: |
  What members were delivered of a partition after it was taken from them.

  A callback or the refusal of a commit had shown it to them, and another member was assigned it.
subject: assignments
optional: [commits]
columns:
  other: who was assigned it
  learned_by: from what the member had learned it, in words
  offset_last: inclusive
  first_micros: of the first delivery since
*/
with moments as (
  select group, topic, partition, member, seq,
    struct(at_micros, if(change = 'assigned', null, 'it was revoked') as by) as learned,
    null as delivery
  from group_events
  where change in ('assigned', 'revoked', 'lost')
  union all
  select group, topic, partition, member, seq,
    struct(committed_micros as at_micros, concat('its commit was refused: ', error) as by), null
  from commits
  where replace(error, '_', '') rlike '(?i)^({{ no_member }})'
  union all
  select group, topic, partition, member, seq, null,
    struct(at_micros, first_offset, last_offset, records)
  from deliveries
),
informed as (
  select *, last_value(learned) ignore nulls over (
      partition by group, topic, partition, member order by seq) as last_learned
  from moments
),
given_on as (
  select m.group, m.topic, m.partition, m.member, delivery, last_learned, max(a.member) as other
  from informed as m
  join assignments as a on (a.group, a.topic, a.partition) = (m.group, m.topic, m.partition)
  where delivery is not null and last_learned.by is not null
    and a.member != m.member and a.from_micros + :clock_micros < delivery.at_micros
    and coalesce(a.left_micros > delivery.at_micros, true)
  group by all
)
select group, topic, partition, member, other, last_learned.by as learned_by,
  last_learned.at_micros as learned_micros, min(delivery.first_offset) as offset_first,
  max(delivery.last_offset) as offset_last, cast(sum(delivery.records) as bigint) as records,
  min(delivery.at_micros) as first_micros, max(delivery.at_micros) as last_micros
from given_on
group by group, topic, partition, member, other, last_learned
