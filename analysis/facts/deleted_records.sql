/*
about: Slices below the log start that are in a segment yet.
subject: progress
kept: false
like: surviving_records
*/
select distinct topic, partition, offset, last_offset, records, leader_epoch, value
from sliced_replica_records
left semi join survivors using (topic, partition, broker)
join deleted_partitions using (topic, partition)
where offset < log_start
