/*
about: |
  Marks in the lanes of groups: their positions on each partition, and their lag.

  Of the stored commits these are the first and the last of each epoch in a row, 24 at most, and
  about 24 of the others. An exception is on each partition that the group was delivered records of,
  at the position as of the last delivery until then. The lag is that of groups that read or
  committed more than two partitions, at 80 moments of `drawn_span`: log ends less positions, where
  both are known.
subject: drawn
kept: false
optional: [drawn_lines, offsets_over_time, committed_offsets, group_events, deliveries]
like: marks_of_run
*/
{% set br = "'\n'" %}
{% set here = "partition by group, topic, partition" %}
with stored as (
  select *, row_number() over in_order - 1 as place, count(*) over ({{ here }}) as commits,
    coalesce(committed_epoch <=> lag(committed_epoch) over in_order
      and committed_epoch <=> lead(committed_epoch) over in_order, false) as is_between,
    lag(offset) over in_order as before, lead(offset) over in_order as next
  from committed_offsets
  where not is_tombstone and offset is not null
  window in_order as ({{ here }} order by offsets_offset)
),
ends as (
  select *, sum(if(is_between and before is not null and next is not null, 0, 1)) over (
      {{ here }} order by offsets_offset) as end
  from stored
),
chosen as (
  select * from ends
  where (not (is_between and before is not null and next is not null) and end <= 24)
    or place % greatest(1, ceil(commits / 24)) = 0
),
failed as (
  select * from group_events where change = 'failed'
),
read_by as (
  select distinct group, topic, partition from deliveries
),
placed as (
  select read_by.group, read_by.topic, read_by.partition, member, seq, at_micros, exception, message
  from failed join read_by using (group)
  where failed.partition < 0
  union all
  select group, topic, partition, member, seq, at_micros, exception, message
  from failed
  where failed.partition >= 0
),
of_members as (
  select group, topic, partition, member, seq, at_micros, exception, message, 1 as is_failure,
    cast(null as bigint) as position
  from placed
  union all
  select group, topic, partition, member, seq, at_micros, null, null, 0, last_offset + 1
  from deliveries left semi join placed using (group, topic, partition)
),
placed_at as (
  select *, last_value(position) ignore nulls over (partition by group, topic, partition
    order by at_micros, is_failure, position) as last_position
  from of_members
),
read as (
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
times as (
  select distinct
    begin_micros + cast(floor((end_micros - begin_micros) * nth / 79) as bigint) as at_micros
  from (select *, explode(sequence(0, 79)) as nth from drawn_span)
),
events as (
  select *, 0 as is_moment from moved
  union all
  select topic, partition, group, at_micros, null, 1
  from (select distinct topic, partition, group from moved) cross join times
),
known as (
  select topic, partition, group, at_micros, is_moment,
    last_value(offset) ignore nulls over (partition by topic, partition, group
      order by at_micros, is_moment, offset) as offset
  from events
),
log_ends as (
  select topic, partition, at_micros, offset as log_end
  from known
  where is_moment = 1 and group is null
)
select 101 as place, 'position' as lane, topic, partition, group, cast(null as string) as row,
  cast(0 as bigint) as nth, 'line' as kind, 'position' as name, 'blue' as color, at_micros,
  cast(null as bigint) as until_micros, cast(offset as double) as value, '' as text, '' as label
from drawn_lines where line = 'position'
union all
select 102, 'position', topic, partition, group, null, 0, 'diamond', 'commit (offset, epoch)',
  'violet', committed_micros, null, offset,
  format_string('%s commits offset %s with epoch %s%s', group, offset, committed_epoch,
    if(count(*) over ({{ here }}) < commits,
      format_string('%sone of %s commits', {{ br }}, commits), '')), ''
from chosen
union all
select 103, 'position', topic, partition, group, null, 0, 'triangle-left', 'reset', 'orange',
  at_micros, null, coalesce(offset, from_offset), concat(who, ' ', what), ''
from moments_of_groups where kind = 'reset' and coalesce(offset, from_offset) is not null
union all
select 104, 'position', topic, partition, group, null, 0, 'x', 'exception', 'red', at_micros, null,
  coalesce(last_position, 0), format_string('%s: %s%s%s', member, exception, {{ br }}, message), ''
from placed_at where is_failure = 1
union all
select 200, 'lag', null, null, group, null, 0, 'line', 'lag', 'orange', at_micros, null,
  sum(greatest(0, log_end - offset)), '', ''
from known join log_ends using (topic, partition, at_micros)
where is_moment = 1 and group is not null and log_end is not null and offset is not null
group by group, at_micros
