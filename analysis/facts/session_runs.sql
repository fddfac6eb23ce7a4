/*
about: |
  Records that one poll returned at consecutive offsets, as one row.

  Within a run nothing is out of order: in one poll, an offset less the record's place is the same
  for all of it. So a window over runs gives what one over all records would.
subject: sessions
columns:
  worker: whose history or log has it
  member: '`group#incarnation`: `orders#2` is the second one of its group'
  prev_seq: of the run before in that incarnation; null in the first
  prev_offset: its last one
  prev_epoch: likewise
*/
with runs as (
  select worker, group, member, topic, partition, seq, min(first_offset) as first_offset,
    max(last_offset) as last_offset, min(leader_epoch) as first_epoch,
    max(leader_epoch) as last_epoch, min(first_place) as place, min(at_micros) as at_micros
  from deliveries
  group by worker, group, member, topic, partition, seq, _shift
)
select * except (place),
  lag(seq) over in_life as prev_seq, lag(last_offset) over in_life as prev_offset,
  lag(last_epoch) over in_life as prev_epoch, lag(at_micros) over in_life as prev_micros
from runs
window in_life as (
  partition by worker, group, member, topic, partition order by seq, place, first_offset)
