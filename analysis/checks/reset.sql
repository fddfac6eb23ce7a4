/*
id: F5, F6, F9
definition: A client reset its position.
explanation: Reports cause, policy, from and to; the magnitude in records, bytes and seconds of
  history, as far as a replica still has the batches; and how many records the reset skipped that
  the group never got. A group that starts without a commit gives up no position and is left out.
evaluates: every member that was opened.
source: '`auto.offset.reset`.'
needs: [group_events]
evaluated: select count(*) as evaluated from group_events where change = 'opened'
tree: true
cases:
- permitted: '{cause}'
  when: to_offset is null
  cause: '{cause}: the client raised an exception'
- permitted: '{cause}'
  cause: '{cause}: from {from_offset} to {to_offset} (policy {policy})'
evidence: policy, from_offset, from_epoch, to_offset, to_epoch, records, bytes, seconds, skipped,
  log_line
place:
  offset_first: from_offset
  offset_last: to_offset
  at: at_micros
*/
{% set reset_key = "group, topic, partition, member, at_micros, from_offset" %}
with ranges as (
  select distinct {{ reset_key }}, to_offset from judged_resets
),
passed as (
  select {{ reset_key }}, broker, sum(size_bytes) as bytes,
    max(max_timestamp_micros) - min(max_timestamp_micros) as micros
  from ranges join replica_batches using (topic, partition)
  where last_offset >= least(from_offset, to_offset)
    and base_offset < greatest(from_offset, to_offset)
  group by all
),
history as (
  select {{ reset_key }}, max(bytes) as bytes, max(micros) / {{ micros_per_second }} as seconds
  from passed
  group by all
),
missed as (
  select distinct group, topic, partition, offset, records from never_delivered
),
skipped as (
  select {{ reset_key }}, sum(records) as skipped
  from ranges join missed using (group, topic, partition)
  where offset >= from_offset and offset < to_offset
  group by all
)
select * except (skipped), from_offset - to_offset as records, coalesce(skipped, 0) as skipped
from judged_resets
left join history using ({{ reset_key }})
left join skipped using ({{ reset_key }})
