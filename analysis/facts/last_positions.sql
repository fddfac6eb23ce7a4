/*
about: How far each group went, however it ended.
subject: positions
kept: false
columns:
  position: the last one that it reported, or the one after its last poll
  seen_micros: when
  is_polled: whether it was killed before it reported one
*/
with reached as (
  select group, topic, partition, position, struct(at_micros, seq) as moment, false as is_polled
  from {{ of_present_topic("group_events", "at_micros") }}
  where change in ('caught_up', 'stalled') and position is not null
  union all
  select group, topic, partition, last_offset + 1, struct(at_micros, seq), true
  from {{ of_present_topic("deliveries", "at_micros") }}
)
select group, topic, partition, max_by(position, struct(moment, position)) as position,
  max(moment.at_micros) as seen_micros, max_by(is_polled, struct(moment, position)) as is_polled
from reached
group by all
