/*
about: |
  Commits in force when they were read: at an assignment, and at the end of the run.

  Left out where no source reports the log start of that time.
subject: positions
columns:
  stood_micros: when it was read
  stood: '`at an assignment`, `at the end`'
  start_low: the least that the log start was then
  expired_micros: of the first log start above the commit since then; null where none is reported
  headroom_seconds: from the commit until then
  is_planned: whether the plan deletes records or sets a retention, or does not say
*/
with standing as (
  select group, topic, partition, committed_offset as offset, committed_epoch, committed_micros,
    from_micros as stood_micros, 'at an assignment' as stood
  from commits_at_start
  union all
  select group, topic, partition, committed_offset, committed_epoch, committed_micros,
    {{ forever }}, 'at the end'
  from {{ last_commits("present_offsets") }}
),
assignments_of_log as (
  select distinct topic, partition, stood_micros as at_micros
  from standing
  where stood = 'at an assignment'
),
started as (
  select topic, partition, at_micros as stood_micros, start_low, start_high
  from {{ with_log_starts("assignments_of_log") }}
),
reported as (
  select standing.*, min(first_micros) as reported_micros,
    min(first_micros) filter (where log_start > offset and first_micros > committed_micros
      and first_micros <= stood_micros) as expired_micros
  from standing left join log_start_reports using (topic, partition)
  group by all
)
select {{ standing_key }}, stood, if(stood = 'at the end', log_start, start_low) as start_low,
  expired_micros, (expired_micros - committed_micros) / {{ micros_per_second }} as headroom_seconds,
  retention_ms is not null or coalesce(deletes, true) as is_planned
from reported
left join started using (topic, partition, stood_micros)
join log_bounds using (topic, partition)
left join planned_topics using (topic)
where stood = 'at the end' or reported_micros <= stood_micros or start_high <= offset
