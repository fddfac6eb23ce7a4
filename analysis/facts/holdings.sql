/*
about: Times in which a member owned the same partitions, by its assignments.
subject: drawn
columns:
  until_micros: null where it owned them to the end
  partitions: such as `orders-0`, in order
  generation: the newest one; -1 where it is not known
*/
with owned as (
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
)
select group, member, min(from_micros) as from_micros,
  max_by(until_micros, from_micros) as until_micros, partitions, generation
from numbered
group by group, member, part, partitions, generation
