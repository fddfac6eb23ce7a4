/*
about: |
  Where a group came to the log's end, under an epoch whose branch the log left since.

  What the log holds there of an older epoch was not in that branch, which had started at or below
  from_offset.
subject: branches
columns: |
  group string
  topic string
  partition int
  other_epoch int: under which it read
  from_offset bigint
  to_offset bigint: exclusive: where the log has no epoch so new
  at_micros bigint
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
absences as (
  select group, topic, partition, led.leader_epoch as other_epoch,
    greatest(position, led.start_high) as from_offset,
    coalesce(array_min(transform(
      filter(timeline, one -> one.is_kept and one.leader_epoch >= led.leader_epoch),
      one -> one.start_high)), log_end) as to_offset,
    at_micros
  from led_then
  -- No newer leader may have begun by then.
  where led.start_high is not null and not exists(timeline, one ->
    one.leader_epoch > led.leader_epoch
    and coalesce(one.from_micros <= at_micros + :clock_micros, true))
)
select * from absences where from_offset < to_offset
