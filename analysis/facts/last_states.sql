/*
about: The last state of each partition in the metadata log.
subject: replicas
columns:
  leader: '-1: none'
  high_watermark: the largest that the leader of this epoch reported; null if it reported none, or
    if the topic was created again
*/
with states as (
  select topic, partition,
    max_by(struct(leader, leader_epoch, isr, replicas), metadata_offset) as last_state
  from leaderships
  group by all
),
reported as (
  select topic, partition, leader_epoch, max(log_end_offset) as high_watermark
  from samples left semi join created_once using (topic, partition)
  where broker = leader and log_end_offset >= 0
  group by all
)
select states.topic, states.partition, last_state.leader, last_state.leader_epoch, last_state.isr,
  last_state.replicas, high_watermark
from states left join reported on (reported.topic, reported.partition, reported.leader_epoch)
  = (states.topic, states.partition, last_state.leader_epoch)
