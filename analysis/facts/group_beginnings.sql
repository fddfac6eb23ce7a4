/*
about: |
  Where each group that was delivered anything began.

  That is its first position, the first offset delivered to it, or the one to which its first
  reset for want of a commit put it before that delivery, whichever is lowest. A group with
  `auto.offset.reset=earliest`, no commit and no reset before its first delivery began at the log
  start of that time. On a partition of which nothing was delivered to it, it began at its first
  position.

  A group that was delivered records of an earlier topic of that name began at offset 0: all of the
  present topic was written while the group was there.
subject: positions
*/
with resets_for_want as (
  select * from {{ of_present_topic("client_resets", "at_micros") }}
  where cause = 'no_commit' and to_offset >= 0
),
delivered as (
  select group, topic, partition, min(first_offset) as lowest, min(at_micros) as at_micros
  from {{ of_present_topic("deliveries", "at_micros") }}
  group by all
),
assigned as (
  select group, topic, partition, min_by(position, struct(at_micros, seq)) as first_position
  from {{ of_present_topic("group_events", "at_micros") }}
  where change = 'assigned' and position is not null
  group by all
),
-- What a group resumed from, or was reset to, before its first delivery.
led as (
  select group, topic, partition, min(led_micros) as led_micros
  from (
    select group, topic, partition, committed_micros as led_micros from present_offsets
    union all
    select group, topic, partition, at_micros from client_resets)
  group by all
),
put_back as (
  select group, topic, partition,
    min_by(to_offset, r.at_micros) filter (where r.at_micros <= delivered.at_micros) as put_to
  from delivered join resets_for_want as r using (group, topic, partition)
  group by all
),
began as (
  select group, topic, partition, least(lowest, first_position, put_to,
      if(reset = 'earliest' and coalesce(led_micros > at_micros, true), start_high, null))
    as first_offset
  from {{ with_log_starts("delivered") }}
  left join assigned using (group, topic, partition)
  left join led using (group, topic, partition)
  left join put_back using (group, topic, partition)
  left join planned_groups using (group)
  union all
  select group, topic, partition, first_position
  from assigned
  left semi join delivered using (group)
  left anti join delivered using (group, topic, partition)
),
of_former as (
  select distinct group, topic, partition
  from deliveries join recreations using (topic, partition)
  where at_micros < created_micros
)
select * from began left anti join of_former using (group, topic, partition)
union all
select group, topic, partition, 0 from of_former
