/*
about: |
  Leader epochs of which a group was delivered records beyond where they end in the surviving log.

  Only of topics that were created once.
subject: leader_epochs
kept: false
columns:
  broker: its leader
  until_micros: when the next one began; null of the last
  ends: the first offset that a later epoch has in the log
  next_epoch: that one
*/
with delivered as (
  select topic, partition, leader_epoch, max(last_offset) as delivered_to
  from deliveries left semi join created_once using (topic, partition)
  group by all
),
entries as (
  select topic, partition, explode(epochs) as entry from epoch_starts
),
ended as (
  select topic, partition, d.leader_epoch, delivered_to,
    min(struct(entry.start_offset, entry.leader_epoch)) as next
  from delivered as d join entries using (topic, partition)
  where entry.leader_epoch > d.leader_epoch
  group by all
)
select ended.topic, ended.partition, leader_epoch, broker, until_micros,
  next.start_offset as ends, next.leader_epoch as next_epoch
from ended join leader_epochs as led
  on (led.topic, led.partition, led.epoch) = (ended.topic, ended.partition, ended.leader_epoch)
where delivered_to >= next.start_offset
