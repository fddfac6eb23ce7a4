/*
about: 'What groups were delivered: one row for the records of one poll and one leader epoch.'
subject: deliveries
columns:
  worker: whose history or log has it
  member: '`group#incarnation`: `orders#2` is the second one of its group'
  _shift: offset less place in the poll, the same for all of it
*/
select worker, group, member, topic, partition, seq, polled_micros as at_micros, leader_epoch,
  first_offset - first_place as _shift, min(first_offset) as first_offset,
  max(last_offset) as last_offset, min(first_place) as first_place,
  max(first_place + last_offset - first_offset) as last_place,
  cast(sum(last_offset - first_offset + 1) as bigint) as records
from polls
group by all
