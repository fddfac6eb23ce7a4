/*
about: |
  Leader epochs, one a row, by all sources: leaderships, the lines of leaders in server logs, epoch
  checkpoints and deliveries. `timelines` has them as structs, one array for each partition.
subject: state
columns:
  start_low: 'the lowest offset at which the epoch may have started; null: unknown'
  start_high: 'the highest one; null: unknown'
  from_micros: 'when it began; null: unknown'
  is_kept: whether the surviving log has it, as far as is known; true also if it is older than all
    epochs of that log, so that retention may have removed it
*/
with led as (
  select topic, partition, leader_epoch, min(at_micros) as led_micros
  from {{ of_present_topic("leaderships", "at_micros") }}
  where leader_epoch >= 0
  group by all
),
logged as (
  select topic, partition, leader_epoch,
    min(start_offset) as logged_start, min(at_micros) as logged_micros
  from {{ of_present_topic("leader_epoch_starts", "at_micros") }}
  group by all
),
entries as (
  select topic, partition, explode(epochs) as entry from epoch_starts
),
cached as (
  select topic, partition, entry.leader_epoch, min(entry.start_offset) as cached_start
  from entries
  group by all
),
delivered as (
  select topic, partition, leader_epoch, min(first_offset) as first_read
  from {{ of_present_topic("deliveries", "at_micros") }}
  where leader_epoch >= 0
  group by all
),
known as (
  select *,
    -- Retention raises the start of the oldest cached epoch to the log start.
    if(cached_start > log_start or cached_start = 0, cached_start, null) as exact_start
  from led
  full outer join logged using (topic, partition, leader_epoch)
  full outer join cached using (topic, partition, leader_epoch)
  full outer join delivered using (topic, partition, leader_epoch)
  left join log_bounds using (topic, partition)
),
compared as (
  select *,
    min(if(cached_start is null, null, leader_epoch)) over in_log as oldest,
    max(if(cached_start is null, null, leader_epoch)) over in_log as newest,
    min(exact_start) over (partition by topic, partition order by leader_epoch
      rows between 1 following and unbounded following) as next_start
  from known
  window in_log as (partition by topic, partition)
)
select topic, partition, leader_epoch,
  -- Where a leader's line and the checkpoints differ, one is wrong, and it is not known which: they
  -- are the two bounds. An epoch that no checkpoint has, between two that one has, has no record on
  -- the surviving branch: it starts and ends where the next one starts.
  coalesce(least(logged_start, exact_start), case
    when cached_start is not null then null
    when leader_epoch > newest then log_end
    when leader_epoch > oldest then next_start
  end) as start_low,
  coalesce(greatest(logged_start, if(logged_start is null, null, exact_start)),
    least(cached_start, first_read)) as start_high,
  coalesce(logged_micros, led_micros) as from_micros,
  coalesce(cached_start is not null or leader_epoch < oldest, true) as is_kept
from compared
