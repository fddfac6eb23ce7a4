/*
about: Partitions of which records were deleted.
subject: progress
kept: false
columns: |
  topic string
  partition int
  log_start bigint
*/
select topic, partition, log_start from log_bounds where log_start > 0
