-- One row per scenario and Kafka version, and before it one per recipe: how many runs reached their
-- hazard. A run did if it passed: it has every required finding of its scenario, and no other violation.
with runs_of_night as (
  select row ->> 'scenario' as scenario, row ->> 'kafka' as kafka, row ->> 'verdict' as verdict,
    (row ->> 'seconds')::double as seconds,
    (select string_agg(key || '=' || (row -> 'parameters' ->> key), ', ' order by key)
    from unnest(json_keys(row, '$.parameters')) as keys(key)) as recipe
  from summary
),
named as (
  select *, scenario || '(' || recipe || ')' as name from runs_of_night where recipe is not null
  union all
  select *, scenario || ', all' as name from runs_of_night
)
select name as scenario, kafka, count(*) as runs,
  count(*) filter (where verdict = 'pass') as reached,
  count(*) filter (where verdict = 'fail') as failed,
  count(*) filter (where verdict = 'undecided') as undecided,
  round(median(seconds))::bigint as seconds
from named
group by all
order by any_value(named.scenario), kafka, name
