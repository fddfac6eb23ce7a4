/*
about: |
  What each group was delivered of each epoch, with the fork where that epoch ends.

  Records whose epoch the client does not report are left out.
subject: branches
columns:
  first_offset: in the order of delivery
  last_offset: likewise
  forked_at: where the surviving branch leaves the epoch, as its leader returns it; null if it
    does not
*/
with read as (
  select topic, partition, group, leader_epoch as epoch, min(first_offset) as offset_min,
    max(last_offset) as offset_max,
    min_by(first_offset, struct(at_micros, seq, first_place)) as first_offset,
    max_by(last_offset, struct(at_micros, seq, last_place)) as last_offset,
    min(at_micros) as first_micros, max(at_micros) as last_micros
  from deliveries
  where leader_epoch >= 0
  group by all
)
select * except (timeline), {{ end_then("epoch", forever) }} as forked_at
from read left join timelines using (topic, partition)
