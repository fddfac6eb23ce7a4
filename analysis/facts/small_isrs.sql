/*
about: When a leader had fewer replicas in sync than `min.insync.replicas`.
subject: leader_epochs
columns:
  until_micros: null while it lasts
*/
select topic, partition, leader, leader_epoch, isr, min_insync, at_micros, until_micros
from leadership_states join planned_topics using (topic)
where min_insync > 1 and leader >= 0 and size(isr) < least(min_insync, size(replicas))
