/*
about: |
  When a partition could not be served, by the metadata log.

  It had no leader; or its ISR was smaller than `min.insync.replicas`, or than the replica count
  where that is less: then the high watermark does not advance (KAFKA-15583).
subject: leader_epochs
columns:
  until: null while it lasts
  is_small: it had a leader, and can't serve only what needs the ISR
*/
select topic, partition, at_micros as since, until_micros as until, leader >= 0 as is_small
from leadership_states
left join planned_topics as planned using (topic)
cross join run_conditions as otherwise
where leader < 0
  or size(isr) < least(coalesce(planned.min_insync, otherwise.min_insync), size(replicas))
