-- One row per Kafka version and rule of the protocol: the worst verdict of its APIs, and the number of
-- responses about it. An API without a response leaves a rule open only if no other API has one. An API
-- is not applicable if one run shows that: servers of another role may not have it at all.
with found as (
  select verdict ->> 'kafka' as kafka, unnest(from_json(
    verdict -> 'rules',
    '[{"rule":"VARCHAR","api":"VARCHAR","verdict":"VARCHAR","responses":"BIGINT"}]'
  ), recursive := true)
  from runs
),
lacking as (
  select distinct kafka, rule, api from found where verdict = 'not applicable'
),
counting as (
  select *, max(responses) over (partition by kafka, rule) > 0 as is_answered
  from found
),
worst as (
  select kafka, rule, sum(responses) as responses,
    min(list_position(
      ['violated', 'undecided', 'not asked', 'holds', 'not applicable'], verdict
    )) filter (
      where responses > 0 or not is_answered and (
        verdict <> 'not asked' or (kafka, rule, api) not in (select (kafka, rule, api) from lacking)
      )
    ) as place
  from counting
  group by all
)
select kafka, rule,
  ['violated', 'undecided', 'not asked', 'holds', 'not applicable'][place] as verdict,
  responses::bigint as responses
from worst
order by regexp_extract_all(kafka, '\d+')::int[], rule
