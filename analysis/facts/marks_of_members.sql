/*
about: |
  Marks in the lanes of members: when each was open, and when it owned the same partitions, by its
  assignments.
subject: drawn
kept: false
optional: [group_events, reported_assignments]
like: marks_of_run
*/
{% set br = "'\n'" %}
{% set row = "concat('#', element_at(split(member, '#'), -1))" %}
{% set listed = "array_join(slice(partitions, 1, 12), ', ')" %}
with changes as (
  select group, member, change, at_micros,
    min(at_micros) over (partition by group, member) as first_micros,
    lead(change) over in_order as next_change, lead(at_micros) over in_order as next_micros
  from group_events
  where change in ('opened', 'closed', 'failed')
  window in_order as (partition by group, member order by seq)
),
firsts as (
  select group, member, min(at_micros) as first_micros
  from group_events
  where change in ('opened', 'closed', 'failed')
  group by group, member
),
owned as (
  select *, concat(topic, '-', cast(partition as string)) as name,
    coalesce(left_micros, if(next_micros is null, null, next_micros)) as until_micros
  from (
    select *, lead(from_micros) over (
        partition by group, member, topic, partition order by from_seq) as next_micros
    from reported_assignments)
),
edges as (
  select group, member, from_micros as at_micros from owned
  union
  select group, member, until_micros from owned where until_micros is not null
),
spans as (
  select *, lead(at_micros) over (partition by group, member order by at_micros) as until_micros
  from edges
),
held as (
  select group, member, s.at_micros as from_micros, s.until_micros,
    array_sort(collect_set(name)) as partitions, max(generation) as generation
  from spans as s join owned as o using (group, member)
  where o.from_micros <= s.at_micros and coalesce(o.until_micros > s.at_micros, true)
  group by group, member, s.at_micros, s.until_micros
),
compared as (
  select *, if(coalesce(partitions = lag(partitions) over in_order
      and generation = lag(generation) over in_order
      and from_micros = lag(until_micros) over in_order, false), 0, 1) as is_other
  from held
  window in_order as (partition by group, member order by from_micros)
),
numbered as (
  select *, sum(is_other) over (partition by group, member order by from_micros) as part
  from compared
),
owning as (
  select group, member, min(from_micros) as from_micros,
    max_by(until_micros, from_micros) as until_micros, partitions, generation
  from numbered
  group by group, member, part, partitions, generation
)
select 300 as place, 'members' as lane, cast(null as string) as topic,
  cast(null as int) as partition, group, {{ row }} as row, first_micros as nth, 'bar' as kind,
  'open' as name, 'sky' as color, at_micros,
  if(next_change = 'opened', null, next_micros) as until_micros, cast(null as double) as value,
  concat(member, ' is open', if(coalesce(next_change, 'opened') = 'opened', '',
    concat(', then ', next_change))) as text, '' as label
from changes
where change = 'opened'
union all
select 301, 'members', null, null, group, {{ row }}, first_micros, 'thin', 'owns partitions',
  'blue', from_micros, until_micros, null,
  format_string('%s owns %s%s%sgeneration %s', member, {{ listed }}, if(size(partitions) > 12,
    format_string(' and %s more', size(partitions) - 12), ''), {{ br }},
    if(generation < 0, 'unknown', cast(generation as string))), cast(size(partitions) as string)
from owning join firsts using (group, member)
