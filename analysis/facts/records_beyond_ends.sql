/*
about: |
  What the log holds beyond an end that a group came to, under an epoch whose branch the log left
  since.

  It is of an older epoch, and was not in that branch, which had started at or below it.
subject: branches
columns:
  offset: the first one
  last_offset: inclusive
  other_epoch: under which the group read
  at_micros: when it came to the end
*/
with caught_up as (
  select group, topic, partition, position, at_micros
  from {{ of_present_topic("group_events", "at_micros") }}
  where change = 'caught_up' and position is not null
),
led_then as (
  select *, array_max(filter(timeline, one -> one.from_micros <= at_micros - :clock_micros)) as led
  from caught_up
  join timelines using (topic, partition)
  join log_bounds using (topic, partition)
),
ends as (
  select group, topic, partition, led.leader_epoch as other_epoch,
    greatest(position, led.start_high) as from_offset,
    coalesce(array_min(transform(
      filter(timeline, one -> one.is_kept and one.leader_epoch >= led.leader_epoch),
      one -> one.start_high)), log_end) as to_offset,
    at_micros
  from led_then
  -- No newer leader may have begun by then.
  where led.start_high is not null and not exists(timeline,
    one -> one.leader_epoch > led.leader_epoch
      and coalesce(one.from_micros <= at_micros + :clock_micros, true))
)
select group, topic, partition, offset, last_offset, leader_epoch, value, other_epoch, at_micros
from ends join surviving_records using (topic, partition)
where offset >= from_offset and offset < to_offset and leader_epoch < other_epoch
