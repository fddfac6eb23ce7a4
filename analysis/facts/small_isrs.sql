/*
about: When a leader had fewer replicas in sync than `min.insync.replicas`.
subject: leader_epochs
columns: |
  topic string
  partition int
  leader int
  leader_epoch int
  isr array<int>
  min_insync int
  at_micros bigint
  until_micros bigint: null while it lasts
*/
select topic, partition, leader, leader_epoch, isr, min_insync, at_micros, until_micros
from leadership_states join planned_topics using (topic)
where min_insync > 1 and leader >= 0 and size(isr) < least(min_insync, size(replicas))
