/*
about: |
  Each epoch that the leader's epoch cache had at a call of `leader_calls`: see
  `LeaderEpochFileCache`.

  An epoch leaves the cache by a later one that starts at or below it. Those below the log start
  leave it too, but for the newest of them, which then starts there.
subject: wire
columns:
  are_exact: whether it is known where each epoch of the call started
*/
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
)
select {{ call }}, cached_epoch, greatest(start, log_start) as cached_start, are_exact
from kept
where oldest is null or cached_epoch >= oldest
