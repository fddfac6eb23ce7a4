/*
about: The leader epochs in the checkpoint of each replica, and which offsets they have at the end.
subject: drawn
columns:
  ends: exclusive
  log_start: of the replica
  log_end: likewise, exclusive
*/
with bounded as (
  select topic, partition, broker, leader_epoch as epoch, start_offset as begins,
    coalesce(lead(start_offset) over (
        partition by topic, partition, broker order by leader_epoch, start_offset), log_end_offset)
      as ends,
    log_start_offset as log_start, log_end_offset as log_end
  from epoch_checkpoints join log_starts using (topic, partition, broker)
)
select * from bounded where ends > begins
