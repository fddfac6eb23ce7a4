/*
about: |
  Where the surviving log begins and ends at the end of the run.

  A server that is killed may not have written its log start yet (it does so once in
  `log.flush.start.offset.checkpoint.interval.ms`), so the log start that the last leader reported
  counts too.
subject: trace
columns:
  log_end: exclusive
*/
with last_epochs as (
  select topic, partition, max_by(leader_epoch, metadata_offset) as leader_epoch
  from leaderships
  group by all
),
reported as (
  select topic, partition, max_by(log_start_offset, at_micros) as reported_start
  from samples left semi join last_epochs using (topic, partition, leader_epoch)
  where log_start_offset >= 0 and broker = leader
  group by all
),
held as (
  select topic, partition, min(log_start_offset) as log_start, max(log_end_offset) as log_end
  from log_starts left semi join survivors using (topic, partition, broker)
  group by all
)
select topic, partition, greatest(log_start, reported_start) as log_start, log_end
from held left join reported using (topic, partition)
