/*
about: Leader epochs one by one, with columns as in the structs of `timelines`.
subject: state
columns: |
  topic string
  partition int
  leader_epoch int
  start_low bigint
  start_high bigint
  from_micros bigint
  is_kept boolean
*/
with led as (
  select topic, partition, leader_epoch, min(at_micros) as led_micros
  from {{ of_present_topic("leaderships", "at_micros") }}
  where leader_epoch >= 0
  group by all
),
logged as (
  select topic, partition, leader_epoch,
    min(start_offset) as logged, min(at_micros) as logged_micros
  from {{ of_present_topic("leader_epoch_starts", "at_micros") }}
  group by all
),
entries as (
  select topic, partition, explode(epochs) as entry from epoch_starts
),
cached as (
  select topic, partition, entry.leader_epoch, min(entry.start_offset) as cached
  from entries
  group by all
),
delivered as (
  select topic, partition, leader_epoch, min(first_offset) as read
  from {{ of_present_topic("deliveries", "at_micros") }}
  where leader_epoch >= 0
  group by all
),
known as (
  select *,
    -- Retention raises the start of the oldest cached epoch to the log start.
    if(cached > log_start or cached = 0, cached, null) as exact
  from led
  full outer join logged using (topic, partition, leader_epoch)
  full outer join cached using (topic, partition, leader_epoch)
  full outer join delivered using (topic, partition, leader_epoch)
  left join log_bounds using (topic, partition)
),
compared as (
  select *,
    min(if(cached is null, null, leader_epoch)) over in_log as oldest,
    max(if(cached is null, null, leader_epoch)) over in_log as newest,
    min(exact) over (partition by topic, partition order by leader_epoch
      rows between 1 following and unbounded following) as next
  from known
  window in_log as (partition by topic, partition)
)
select topic, partition, leader_epoch,
  -- Where a leader's line and the checkpoints differ, one is wrong: either may be true. An epoch
  -- that no cache has, between others that one has, has no record on the surviving branch, so it
  -- ends where the next one starts.
  coalesce(least(logged, exact), case
    when cached is not null then null
    when leader_epoch > newest then log_end
    when leader_epoch > oldest then next
  end) as start_low,
  coalesce(greatest(logged, if(logged is null, null, exact)), least(cached, read)) as start_high,
  coalesce(logged_micros, led_micros) as from_micros,
  coalesce(cached is not null or leader_epoch < oldest, true) as is_kept
from compared
