/*
A number of a run and a client, or of the cluster, for each of its measures. It is 0 where the check
judged the run and found nothing; a run that was not judged by it has no row.
*/
with measures as (
  select m.measure, m.check_name from (values
    ('lost records', 'lost_record'),
    ('records delivered again', 'duplicate_delivery'),
    ('records of the largest reset', 'reset'),
    ('longest wait of producers, s', 'produce_unavailable'),
    ('longest wait of fetches, s', 'fetch_unavailable'),
    ('longest wait of commits, s', 'commit_unavailable')
  ) as m (measure, check_name)
),
subjects as (
  select night, run, client from clients_of_runs
  union all
  select night, run, 'cluster' from stored_runs
),
amounts as (
  select
    night, run, check_name, coalesce(client, 'cluster') as client,
    case
      when check_name in ('lost_record', 'duplicate_delivery')
        then cast(offset_last - offset_first + 1 as double)
      when check_name = 'reset' then abs(cast(get_json_object(evidence, '$.records') as double))
      else cast(get_json_object(evidence, '$.seconds') as double)
    end as amount
  from stored_findings
  where verdict != 'undecided'
),
totals as (
  select
    night, run, check_name, client,
    case
      when check_name in ('lost_record', 'duplicate_delivery') then sum(amount)
      else max(amount)
    end as amount
  from amounts join measures using (check_name)
  group by night, run, check_name, client
),
counted as (
  select m.measure, j.night, j.run, s.client, coalesce(t.amount, 0.0) as number
  from judged_checks as j
  join measures as m using (check_name)
  join subjects as s using (night, run)
  left join totals as t using (night, run, check_name, client)
  union all
  select 'records repeated a resumption', night, run, client, avg(redelivered)
  from resumptions
  where redelivered is not null
  group by night, run, client
  union all
  select 'seconds', night, run, 'cluster', (ended_micros - started_micros) / 1000000.0
  from stored_runs
  where ended_micros is not null
)
select measure, scenario, subject, kafka, client, night, run, cast(number as double) as number
from counted join stored_runs using (night, run)
where is_decided
order by measure, scenario, subject, kafka, client, started_micros, night, run
