/*
about: One row per assignment of a partition to a member, with what was delivered to it.
subject: assignments
like: reported_assignments
columns:
  first_offset: of what was delivered to it; null where nothing was
  before_micros: the last that is known of the member's assignment before; null if none was
*/
with assigned as (
  select *, lead(from_seq) over (
      partition by group, topic, partition, member order by from_seq) as next_seq
  from reported_assignments
),
served as (
  select group, topic, partition, member, from_seq,
    min_by(d.first_offset, struct(seq, first_place)) as first_offset,
    min(at_micros) as first_micros, max(at_micros) as last_micros
  from assigned join deliveries as d using (group, topic, partition, member)
  where seq >= from_seq and coalesce(seq < next_seq, true)
  group by all
)
select assigned.* except (next_seq), first_offset, first_micros, last_micros,
  lag(greatest(from_micros, left_micros, last_micros)) over (
    partition by group, topic, partition, member order by from_seq) as before_micros
from assigned
left join served using (group, topic, partition, member, from_seq)
