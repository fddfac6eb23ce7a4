/*
about: Partitions whose log start moved.
subject: exercise
kept: false
*/
select topic, partition from log_starts where log_start_offset > 0
union
select topic, partition from samples where log_start_offset > 0
