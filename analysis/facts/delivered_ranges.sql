/*
about: All that groups were given, in ranges of one poll, one leader epoch and one producer.
subject: deliveries
kept: false
columns: |
  group string
  topic string
  partition int
  member string
  seq bigint
  at_micros bigint
  leader_epoch int
  first_offset bigint
  last_offset bigint
  first_place int
*/
select group, topic, partition, member, seq, polled_micros as at_micros, leader_epoch, first_offset,
  last_offset, first_place
from polls
