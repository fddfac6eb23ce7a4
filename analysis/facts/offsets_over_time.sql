/*
about: |
  Offsets that moved: where acknowledged records ended, high watermarks as brokers reported them,
  log starts, log ends as far as they were known, and the positions of groups.
subject: drawn
kept: false
optional: [samples, log_start_changes, acknowledged_sends, deliveries]
columns:
  group: of a position; else null
  line: what moved
*/
with reported as (
  select * from samples where log_end_offset >= 0
),
starts as (
  select topic, partition, at_micros, log_start_offset from reported
  union all
  select topic, partition, at_micros, log_start_offset from log_start_changes
),
moved as (
  select topic, partition from starts group by topic, partition having max(log_start_offset) > 0
)
select topic, partition, cast(null as string) as group, concat('acknowledged, acks=', acks) as line,
  answered_micros as at_micros, last_offset + 1 as offset
from acknowledged_sends
union all
select topic, partition, null, format_string('high watermark of broker %s', broker), at_micros,
  log_end_offset
from reported
union all
select topic, partition, null, 'log start', at_micros, log_start_offset
from starts left semi join moved using (topic, partition)
union all
select topic, partition, null, 'log end as last seen', answered_micros, last_offset + 1
from acknowledged_sends
union all
select topic, partition, null, 'log end as last seen', at_micros, log_end_offset from reported
union all
select topic, partition, group, 'position', at_micros, last_offset + 1 from deliveries
