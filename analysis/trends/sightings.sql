/*
A finding in a run: what no expectation covers, where the suite expects that the run passes. Its
identity is all columns up to `client`; `findings` counts it, and `number` is that of the first.
*/
select
  check_name, kind, shape(cause) as cause_shape, scenario, subject, plan, client, night, run,
  count(*) as findings, min(number) as number, min_by(cause, number) as cause
from stored_findings
where is_unexpected and expect = 'pass'
group by all
