/*
about: |
  Requests that a leader answered by its epoch cache: those about an epoch, and those that found an
  offset by a time; with what is known of its log.
subject: wire
columns:
  known_epoch: as in `broker_calls`
  log_start: at the response
  is_start_known: whether it was the same from the request to the response
  end_low: the end of the log before the request
  end_high: the same at the end; null where a later epoch may have shortened the log
*/
with calls as (
  select * from broker_calls
  where leads and api in ({{ validating_apis }}) and (asked_epoch is not null or offset is not null)
    and error_code not in (6, {{ epoch_refusals }}, {{ uncompared_errors }})
),
moments as (
  select topic, partition, began_micros as at_micros from calls
  union
  select topic, partition, at_micros from calls
),
starts_before as (
  select topic, partition, at_micros as began_micros, start_low
  from {{ with_log_starts("moments") }}
),
starts_after as (
  select topic, partition, at_micros, start_high from {{ with_log_starts("moments") }}
),
ends_before as (
  select {{ call }}, max(log_end_offset) as end_before
  from calls join samples using (broker, topic, partition)
  where leader_epoch = known_epoch and samples.at_micros <= began_micros
  group by all
),
newest as (
  select topic, partition, max(leader_epoch) as newest_epoch
  from {{ of_present_topic("leaderships", "at_micros") }}
  group by all
)
select {{ response }}, asked_epoch, asked_offset, asked_timestamp, error_code, epoch, offset,
  diverging_epoch, diverging_offset, record_bytes, known_epoch, start_high as log_start,
  coalesce(start_low = start_high, false) as is_start_known, coalesce(end_before, 0) as end_low,
  if(known_epoch = newest_epoch, log_end, null) as end_high
from calls
left join starts_before using (topic, partition, began_micros)
left join starts_after using (topic, partition, at_micros)
left join ends_before using ({{ call }})
left join newest using (topic, partition)
left join log_bounds using (topic, partition)
