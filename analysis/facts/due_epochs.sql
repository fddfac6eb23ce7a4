/*
about: |
  What the leader's epoch cache says of each call of `leader_calls`.

  Where is_known is false, all of it may be wrong.
subject: wire
columns:
  is_known: whether the leader's epoch, its log start and the starts of its epochs are known
  offset_floor: the cached epoch of `offset`
  asked_floor: the newest cached epoch up to asked_epoch
  due_epoch: with which the leader has to answer, -1 for an epoch above the latest
  due_low: the end offset of that epoch; of the latest one, the end of the log before
  due_high: the same; of the latest one, the end of the log at last, null where not known
  is_due_known: whether these three are known
*/
-- Each epoch that the leader's epoch cache had at a call of `leader_calls`: see
-- `LeaderEpochFileCache`. An epoch leaves the cache by a later one that starts at or below it.
-- Those below the log start leave it too, but for the newest of them, which then starts there.
with epochs as (
  select topic, partition, one.leader_epoch as cached_epoch, one.start_high as start,
    coalesce(one.start_low = one.start_high, false) as is_exact
  from (select topic, partition, explode(timeline) as one from timelines)
),
begun as (
  select {{ call }}, log_start, cached_epoch, start,
    min(is_exact) over (partition by {{ call }}) as are_exact,
    min(start) over (partition by {{ call }} order by cached_epoch
      rows between 1 following and unbounded following) as later_start
  from leader_calls join epochs using (topic, partition)
  where cached_epoch <= known_epoch
),
kept as (
  select *, max(if(start <= log_start, cached_epoch, null)) over (partition by {{ call }}) as oldest
  from begun
  where later_start is null or later_start > start
),
cached_epochs as (
  select {{ call }}, cached_epoch, greatest(start, log_start) as cached_start, are_exact
  from kept
  where oldest is null or cached_epoch >= oldest
),
floors as (
  select {{ call }}, min(are_exact) as are_exact,
    max(cached_epoch) filter (where cached_epoch <= asked_epoch) as asked_floor,
    min(cached_start) filter (where cached_epoch > asked_epoch) as asked_next,
    max(cached_epoch) filter (where cached_start <= offset) as offset_floor
  from leader_calls join cached_epochs using ({{ call }})
  group by all
),
asked as (
  select *,
    coalesce(known_epoch is not null and is_start_known and are_exact, false) as is_known,
    case
      when asked_epoch = known_epoch then 'latest'
      when asked_epoch < 0 or asked_next is null then 'unknown'
      else 'older'
    end as asked
  from leader_calls left join floors using ({{ call }})
)
select {{ call }}, is_known, offset_floor, asked_floor,
  case asked
    when 'latest' then asked_epoch
    when 'unknown' then -1
    else coalesce(asked_floor, asked_epoch)
  end as due_epoch,
  case asked when 'latest' then end_low when 'unknown' then -1 else asked_next end as due_low,
  case asked when 'latest' then end_high when 'unknown' then -1 else asked_next end as due_high,
  is_known or coalesce(asked_epoch >= known_epoch or asked_epoch < 0, false) as is_due_known
from asked
