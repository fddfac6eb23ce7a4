/*
about: |
  How many records each group that read or committed more than two partitions was behind, at 80
  moments of `drawn_span`: log ends less positions, where both are known.
subject: drawn
kept: false
optional: [committed_offsets]
*/
with read as (
  select group, topic, partition from (
    select *, count(*) over (partition by group) as partitions
    from (
      select group, topic, partition from deliveries
      union
      select group, topic, partition from committed_offsets))
  where partitions > 2
),
moved as (
  select topic, partition, group, at_micros, offset
  from offsets_over_time left semi join read using (group, topic, partition)
  where line = 'position'
  union all
  select topic, partition, group, at_micros, offset
  from offsets_over_time left semi join read using (topic, partition)
  where line = 'log end as last seen'
),
moments as (
  select distinct
    begin_micros + cast(floor((end_micros - begin_micros) * nth / 79) as bigint) as at_micros
  from (select *, explode(sequence(0, 79)) as nth from drawn_span)
),
events as (
  select *, 0 as is_moment from moved
  union all
  select topic, partition, group, at_micros, null, 1
  from (select distinct topic, partition, group from moved) cross join moments
),
known as (
  select topic, partition, group, at_micros, is_moment,
    last_value(offset) ignore nulls over (partition by topic, partition, group
      order by at_micros, is_moment, offset) as offset
  from events
),
ends as (
  select topic, partition, at_micros, offset as log_end
  from known
  where is_moment = 1 and group is null
)
select group, at_micros, cast(sum(greatest(0, log_end - offset)) as bigint) as lag
from known join ends using (topic, partition, at_micros)
where is_moment = 1 and group is not null and log_end is not null and offset is not null
group by group, at_micros
