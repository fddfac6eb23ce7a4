/*
about: Partitions whose leader changed, or whose log start moved.
subject: exercise
kept: false
columns: |
  topic string
  partition int
*/
select topic, partition from leader_changes
union
select topic, partition from expired_logs
