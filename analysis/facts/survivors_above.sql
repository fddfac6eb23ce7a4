/*
about: |
  Truncations with each epoch that the surviving branch has at or above them.

  Only epochs that were over when the replica was truncated.
subject: replicas
kept: false
columns:
  cut_micros: when it was truncated
  end: exclusive
  until_micros: of the epoch's leadership
*/
with entries as (
  select topic, partition, log_end, explode(epochs) as entry
  from epoch_starts join log_bounds using (topic, partition)
),
spans as (
  select topic, partition, entry.leader_epoch as epoch, entry.start_offset as start,
    coalesce(min(entry.start_offset) over (partition by topic, partition
      order by entry.leader_epoch range between 1 following and unbounded following), log_end)
      as end
  from entries
),
led as (
  select topic, partition, epoch, broker as leader, until_micros
  from {{ of_present_topic("leader_epochs", "from_micros") }}
)
select topic, partition, broker, to_offset, at_micros as cut_micros, epoch, start, end, leader,
  until_micros
from {{ of_present_topic("truncations", "at_micros") }}
join spans using (topic, partition)
join led using (topic, partition, epoch)
where end > to_offset and end > start and until_micros <= at_micros
