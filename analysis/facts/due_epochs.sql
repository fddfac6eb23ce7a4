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
with floors as (
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
