/*
about: |
  Rows of `resets`, with the offset to which the client went; and the application's seeks.

  librdkafka may log the offset that it left as the target. Then it is the first one that the
  member was delivered since. Of a seek the cause is `seek`; it has no policy and no line.
subject: deliveries
like: resets
optional: [group_events]
*/
with unmoved as (
  select distinct group, member, topic, partition, at_micros
  from resets
  where cause != 'no_commit' and to_offset = from_offset
),
fetched as (
  select group, member, topic, partition, u.at_micros,
    min_by(first_offset, struct(seq, first_place)) as fetched
  from unmoved as u join deliveries as d using (group, member, topic, partition)
  where d.at_micros >= u.at_micros
  group by all
)
select worker, group, member, topic, partition, cause, policy, from_offset, from_epoch,
  coalesce(fetched, to_offset) as to_offset, to_epoch, log_line, at_micros
from resets left join fetched using (group, member, topic, partition, at_micros)
union all
select worker, group, member, topic, partition, 'seek', null, null, null, position, null, null,
  at_micros
from group_events
where change = 'sought'
