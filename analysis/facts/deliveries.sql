/*
about: 'What groups were delivered: one row for the records of one poll and one leader epoch.'
subject: deliveries
columns: |
  worker string: whose history or log has it
  group string
  member string: `group#incarnation`: `orders#2` is the second one of its group
  topic string
  partition int
  seq bigint
  at_micros bigint
  leader_epoch int
  _shift bigint: offset less place in the poll, the same for all of it
  first_offset bigint
  last_offset bigint
  first_place int
  last_place bigint
  records bigint
*/
select worker, group, member, topic, partition, seq, polled_micros as at_micros, leader_epoch,
  first_offset - first_place as _shift, min(first_offset) as first_offset,
  max(last_offset) as last_offset, min(first_place) as first_place,
  max(first_place + last_offset - first_offset) as last_place,
  sum(last_offset - first_offset + 1) as records
from polls
group by all
