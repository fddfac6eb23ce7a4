-- How often each kind of reader was returned an older commit than one that was acknowledged, or none,
-- since the first change of the coordinator in a run of coordinator_hunt. One row per group, way to
-- read and whether the successor was cut. A case is one partition.
with rounds as (
  select doing, began_micros as from_micros,
    coalesce(lead(began_micros) over (order by began_micros), {{ forever }}) as until_micros
  from phases
  where doing like 'round %'
),
cuts as (
  select injected_micros as cut_micros, coalesce(healed_micros, {{ forever }}) as healed_micros
  from faults
  where fault = 'cut replication'
),
changed as (
  select min(injected_micros) as changed_micros from faults
),
older as (
  select distinct worker, seq, topic, partition, true as is_older
  from stale_fetches
  where is_acknowledged
),
asked as (
  select group, topic, partition,
    case when by = 'consumer' then 'committed()' when is_stable then 'Admin, stable'
      else 'Admin' end as how,
    began_micros as at_micros, error is not null as is_failed, coalesce(is_older, false) as is_older
  from offset_reads left join older using (worker, seq, topic, partition)
),
resumed as (
  select group, topic, partition, 'resumes' as how, from_micros as at_micros, false as is_failed,
    coalesce(first_offset, position) < committed_offset as is_older
  from commits_at_start
),
cases as (
  select c.*, doing, cut_micros is not null as is_cut
  from (select * from asked union all select * from resumed) as c
  join changed on at_micros >= changed_micros
  left join rounds on at_micros >= from_micros and at_micros < until_micros
  left join cuts on at_micros >= cut_micros and at_micros < healed_micros
),
-- Partitions of which Admin was returned an older commit in the same round.
exposed as (
  select distinct group, topic, partition, doing, true as is_exposed
  from cases
  where how = 'Admin' and is_older
)
select group, how, is_cut,
  count(*) filter (where not is_failed) as cases,
  count(*) filter (where is_failed) as failed,
  count(*) filter (where not is_failed and is_exposed) as exposed,
  count(*) filter (where is_older) as older
from cases left join exposed using (group, topic, partition, doing)
group by all
order by all
