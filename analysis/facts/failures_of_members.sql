/*
about: Exceptions of members, on each partition that the group was delivered records of.
subject: drawn
kept: false
optional: [group_events]
columns: |
  group string
  topic string
  partition int
  member string
  at_micros bigint
  exception string
  message string
  position bigint: as of the last delivery until then; 0 where there is none
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
)
select group, topic, partition, p.member, p.at_micros, exception, message,
  coalesce(max_by(last_offset + 1, struct(d.at_micros, last_offset))
    filter (where d.at_micros <= p.at_micros), 0) as position
from placed as p left join deliveries as d using (group, topic, partition)
group by group, topic, partition, p.member, p.seq, p.at_micros, exception, message
