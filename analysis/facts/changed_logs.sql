/*
about: Partitions whose leader changed, or whose log start moved.
subject: exercise
kept: false
*/
select topic, partition from leader_changes
union
select topic, partition from expired_logs
