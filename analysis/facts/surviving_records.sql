/*
about: |
  The log at the end.

  That is any surviving replica, at or above the log start: a segment keeps deleted records until
  all of it is deleted.
subject: slices
columns:
  offset: the first one
  last_offset: inclusive
  records: how many records
*/
select distinct topic, partition, offset, last_offset, records, leader_epoch, value
from sliced_replica_records
left semi join survivors using (topic, partition, broker)
left join log_bounds using (topic, partition)
where log_start is null or offset >= log_start
