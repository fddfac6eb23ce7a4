/*
about: |
  Slices of records that the log had until they were deleted.

  They are in a segment yet, or were acknowledged with acks=all in a partition without an unclean
  election.
subject: progress
kept: false
like: surviving_records
*/
with divided as (
  select * from elections where kind not in ('first', 'clean', 'eligible', 'reassigned')
)
select distinct topic, partition, offset, last_offset, records, leader_epoch, value
from sliced_replica_records
left semi join survivors using (topic, partition, broker)
join deleted_partitions using (topic, partition)
where offset < log_start
union
select topic, partition, offset, last_offset, records, acknowledged_epoch, value
from {{ of_present_topic("lost_acknowledged", "answered_micros") }}
left anti join divided using (topic, partition)
where acks not in ('0', '1') and truncated_to is null and offset < log_start
