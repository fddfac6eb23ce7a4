/*
about: |
  Acknowledged sends in slices, with the leader epoch under which their records stood at their
  offsets, in the surviving log or anywhere before.
subject: acknowledgements
kept: false
columns: |
  topic string
  partition int
  producer string
  acks string
  offset bigint: the first one
  last_offset bigint: inclusive
  intended_micros bigint
  answered_micros bigint
  epoch int: null if it is not known, or if there are several
  leader int: of that epoch
*/
with held as (
  select topic, partition, offset, value, leader_epoch from surviving_records
  union all
  select topic, partition, offset, value, seen_epoch from seen_epochs
),
known as (
  select topic, partition, offset, value,
    if(min(leader_epoch) = max(leader_epoch), max(leader_epoch), null) as epoch
  from held
  group by all
),
led as (
  select topic, partition, epoch, max_by(broker, from_micros) as leader
  from leader_epochs
  where broker >= 0
  group by all
)
select topic, partition, producer, acks, offset, last_offset, intended_micros, answered_micros,
  epoch, leader
from sliced_acknowledged
left join known using (topic, partition, offset, value)
left join led using (topic, partition, epoch)
