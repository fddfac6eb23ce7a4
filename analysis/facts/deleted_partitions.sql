/*
about: Partitions of which records were deleted.
subject: progress
kept: false
*/
select topic, partition, log_start from log_bounds where log_start > 0
