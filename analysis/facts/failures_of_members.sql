/*
about: Exceptions of members, on each partition that the group was delivered records of.
subject: drawn
kept: false
optional: [group_events, deliveries]
columns:
  position: as of the last delivery until then; 0 where there is none
*/
with failed as (
  select * from group_events where change = 'failed'
),
read as (
  select distinct group, topic, partition from deliveries
),
placed as (
  select read.group, read.topic, read.partition, member, seq, at_micros, exception, message
  from failed join read using (group)
  where failed.partition < 0
  union all
  select group, topic, partition, member, seq, at_micros, exception, message
  from failed
  where failed.partition >= 0
),
events as (
  select group, topic, partition, member, seq, at_micros, exception, message, 1 as is_failure,
    cast(null as bigint) as position
  from placed
  union all
  select group, topic, partition, member, seq, at_micros, null, null, 0, last_offset + 1
  from deliveries left semi join placed using (group, topic, partition)
),
known as (
  select *, last_value(position) ignore nulls over (partition by group, topic, partition
    order by at_micros, is_failure, position) as last_position
  from events
)
select group, topic, partition, member, at_micros, exception, message,
  coalesce(last_position, 0) as position
from known
where is_failure = 1
