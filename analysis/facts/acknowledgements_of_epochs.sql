/*
about: |
  Acknowledged sends in slices, with the leader epoch under which their records stood at their
  offsets, in the surviving log or anywhere before.
subject: acknowledgements
kept: false
optional: [surviving_records, seen_epochs, leadership_changes]
columns:
  offset: the first one
  last_offset: inclusive
  epoch: null if it is not known, or if there are several
  leader: of that epoch
  led_micros: since when; a topic that was created again has each epoch again
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
begun as (
  select topic, partition, creation, leader_epoch as epoch, min(at_micros) as led_micros,
    min_by(leader, metadata_offset) as leader
  from leadership_changes
  where leader >= 0
  group by all
),
led as (
  select *, lead(led_micros) over in_creations as again_micros,
    row_number() over in_creations as nth
  from begun
  window in_creations as (partition by topic, partition, epoch order by creation)
),
acknowledged as (
  select * from sliced_acknowledged left join known using (topic, partition, offset, value)
)
select s.topic, s.partition, producer, acks, offset, last_offset, intended_micros, answered_micros,
  s.epoch, leader, led_micros
from acknowledged as s left join led
  on led.topic = s.topic and led.partition = s.partition and led.epoch = s.epoch
    and (nth = 1 or answered_micros >= led_micros)
    and coalesce(answered_micros < again_micros, true)
