/*
about: Surviving sends that were acknowledged after their epoch's end, beyond the clocks' bound.
subject: acknowledgements
columns:
  broker: the leader
  until_micros: when its leadership ended
*/
with late as (
  select topic, partition, offset, a.last_offset, value, acks, producer, answered_micros, epoch,
    max(struct(from_micros, broker, newer_epoch, until_micros)) as leader
  from sliced_acknowledged as a
  join surviving_records as s using (topic, partition, offset, value)
  join leader_epochs as e using (topic, partition)
  where s.leader_epoch = e.epoch and from_micros <= answered_micros
    and answered_micros > until_micros + :clock_micros
  group by all
)
select topic, partition, offset, last_offset, acks, producer, answered_micros, epoch,
  leader.broker as broker, leader.newer_epoch as newer_epoch, leader.until_micros as until_micros
from late
