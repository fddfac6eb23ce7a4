/*
about: |
  Starts of epochs in checkpoints that no leader of the epoch logged, though one logged some.

  Retention raises the start of the oldest epoch to the log start, which each replica raises by
  itself, so starts are compared above the replica's own. After a kill its checkpoint may be older
  than the change that the replica logged.
subject: replicas
columns:
  logged_start: the lowest that a leader logged
  at_micros: when one logged it first
*/
with logged as (
  select topic, partition, leader_epoch, collect_set(start_offset) as starts,
    min(at_micros) as at_micros
  from {{ of_present_topic("leader_epoch_starts", "at_micros") }}
  group by all
),
own as (
  select broker, topic, partition, log_start_offset from log_starts
  union all
  select broker, topic, partition, log_start_offset
  from {{ of_present_topic("log_start_changes", "at_micros") }}
),
own_starts as (
  select broker, topic, partition, max(log_start_offset) as own_start from own group by all
)
select broker, topic, partition, leader_epoch, start_offset, array_min(starts) as logged_start,
  at_micros
from epoch_checkpoints
join logged using (topic, partition, leader_epoch)
join own_starts using (broker, topic, partition)
where start_offset > own_start and not array_contains(starts, start_offset)
