/*
about: |
  Requests that a leader answered by its epoch cache, with what that had: those about an epoch, and
  those that found an offset by a time.

  Where is_known is false, the columns of the cache may be wrong. See `LeaderEpochFileCache`.
subject: wire
columns: |
  worker string
  seq bigint
  broker int
  api string
  version int
  topic string
  partition int
  asked_epoch int
  asked_offset bigint
  asked_timestamp bigint
  error_code int
  epoch int
  offset bigint
  diverging_epoch int
  diverging_offset bigint
  record_bytes bigint
  at_micros bigint
  known_epoch int: as in `broker_calls`
  is_known boolean: whether the leader's epoch, its log start and the starts of its epochs are known
  log_start bigint
  asked_floor int: the newest cached epoch up to asked_epoch
  offset_floor int: the cached epoch of `offset`
  due_epoch int: with which the leader has to answer, -1 for an epoch above the latest
  due_low bigint: the end offset of that epoch; of the latest one, the end of the log before
  due_high bigint: the same; null where a later epoch may have shortened the log
  is_due_known boolean: whether these three are known
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
log_starts_then as (
  select topic, partition, at_micros as then_micros, start_low, start_high
  from {{ with_log_starts("moments") }}
),
bounded as (
  select c.*, before.start_low as log_low, after.start_high as log_high
  from calls as c
  left join log_starts_then as before on (before.topic, before.partition, before.then_micros)
    = (c.topic, c.partition, c.began_micros)
  left join log_starts_then as after on (after.topic, after.partition, after.then_micros)
    = (c.topic, c.partition, c.at_micros)
),
epochs as (
  select topic, partition, one.leader_epoch as cached_epoch, one.start_high as start,
    coalesce(one.start_low = one.start_high, false) as is_exact
  from (select topic, partition, explode(timeline) as one from timelines)
),
begun as (
  select {{ call }}, asked_epoch, offset, known_epoch, log_high, cached_epoch, start,
    min(is_exact) over (partition by {{ call }}) as are_exact,
    min(start) over (partition by {{ call }} order by cached_epoch
      rows between 1 following and unbounded following) as later_start
  from bounded join epochs using (topic, partition)
  where cached_epoch <= known_epoch
),
-- An epoch leaves the cache by a later one that starts at or below it.
kept as (
  select *, max(if(start <= log_high, cached_epoch, null)) over (partition by {{ call }}) as oldest
  from begun
  where later_start is null or later_start > start
),
-- Those below the log start leave it too, but for the newest of them, which then starts there.
cached as (
  select *, greatest(start, log_high) as cached_start
  from kept
  where oldest is null or cached_epoch >= oldest
),
floors as (
  select {{ call }}, min(are_exact) as is_exact,
    max(cached_epoch) filter (where cached_epoch <= asked_epoch) as asked_floor,
    min(cached_start) filter (where cached_epoch > asked_epoch) as asked_next,
    max(cached_epoch) filter (where cached_start <= offset) as offset_floor
  from cached
  group by all
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
),
joined as (
  select *,
    coalesce(known_epoch is not null and log_low = log_high and is_exact, false) as is_known,
    case
      when asked_epoch = known_epoch then 'latest'
      when asked_epoch < 0 or asked_next is null then 'unknown'
      else 'older'
    end as asked
  from bounded
  left join floors using ({{ call }})
  left join ends_before using ({{ call }})
  left join newest using (topic, partition)
  left join log_bounds using (topic, partition)
)
select {{ response }}, asked_epoch, asked_offset, asked_timestamp, error_code, epoch, offset,
  diverging_epoch, diverging_offset, record_bytes, known_epoch, is_known, log_high as log_start,
  asked_floor, offset_floor,
  case asked
    when 'latest' then asked_epoch
    when 'unknown' then -1
    else coalesce(asked_floor, asked_epoch)
  end as due_epoch,
  case asked
    when 'latest' then coalesce(end_before, 0)
    when 'unknown' then -1
    else asked_next
  end as due_low,
  case asked
    when 'latest' then if(known_epoch = newest_epoch, log_end, null)
    when 'unknown' then -1
    else asked_next
  end as due_high,
  is_known or coalesce(asked_epoch >= known_epoch or asked_epoch < 0, false) as is_due_known
from joined
