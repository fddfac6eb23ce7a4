/*
A finding, and a run that had it or could have shown it: of the same scenario and parameters, on a
version of Kafka on which it was seen, with its client, whole, and judged by its check.
*/
with lanes as (
  select distinct
    check_name, kind, cause_shape, scenario, subject, s.plan, client, kafka
  from sightings as s join stored_runs using (night, run, scenario, subject)
),
judged as (
  select night, run, check_name from judged_checks
),
runs as (
  select l.*, night, run, started_micros,
    j.check_name is not null and is_decided
      and (l.client is null or c.client is not null) as is_able
  from lanes as l
  join stored_runs as r using (scenario, subject, kafka)
  left join judged as j using (night, run, check_name)
  left join clients_of_runs as c using (night, run, client)
  where r.plan = l.plan
)
select
  r.check_name, r.kind, r.cause_shape, r.scenario, r.subject, r.plan, r.client, r.kafka, r.night,
  r.run, r.started_micros, s.findings, s.number, s.cause
from runs as r
left join sightings as s
  on s.check_name = r.check_name and s.kind = r.kind and s.cause_shape = r.cause_shape
    and s.client is not distinct from r.client and s.night = r.night and s.run = r.run
where s.findings is not null or is_able
order by r.started_micros, r.night, r.run
