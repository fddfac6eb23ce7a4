/*
about: |
  How many records each group with more than two partitions was behind, at 80 moments of
  `drawn_span`: log ends less positions, where both are known.
subject: drawn
kept: false
columns: |
  group string
  at_micros bigint
  lag bigint
*/
with positions as (
  select group, topic, partition, at_micros, offset
  from offsets_over_time
  where line = 'position'
),
read as (
  select group, topic, partition from (
    select distinct group, topic, partition, count(*) over (partition by group) as partitions
    from (select distinct group, topic, partition from positions))
  where partitions > 2
),
moments as (
  select begin_micros + cast((end_micros - begin_micros) * nth / 79 as bigint) as at_micros
  from (select *, explode(sequence(0, 79)) as nth from drawn_span)
),
events as (
  select group, topic, partition, at_micros, 0 as is_moment, cast(null as bigint) as log_end,
    offset as position
  from positions left semi join read using (group, topic, partition)
  union all
  select read.group, topic, partition, at_micros, 0, offset, null
  from read join offsets_over_time using (topic, partition)
  where line = 'log end as last seen'
  union all
  select group, topic, partition, at_micros, 1, null, null from read cross join moments
),
known as (
  select group, at_micros, is_moment,
    last_value(log_end) ignore nulls over until_then as log_end,
    last_value(position) ignore nulls over until_then as position
  from events
  window until_then as (partition by group, topic, partition
    order by at_micros, is_moment, coalesce(log_end, position))
)
select group, at_micros, cast(sum(greatest(0, log_end - position)) as bigint) as lag
from known
where is_moment = 1 and log_end is not null and position is not null
group by group, at_micros
