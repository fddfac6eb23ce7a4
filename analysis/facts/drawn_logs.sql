/*
about: |
  The replica that stands for the surviving log of a partition: that of the last leader that has
  epochs, else the longest one.
subject: drawn
optional: [leaders_of_log]
columns:
  log_end: exclusive
*/
with logs as (
  select distinct topic, partition, broker, log_start, log_end from segments_of_logs
),
led as (
  select topic, partition, leader as broker, max(metadata_offset) as led_at
  from leaders_of_log
  group by all
),
ranked as (
  select *, row_number() over (
      partition by topic, partition order by coalesce(led_at, -1) desc, log_end desc, broker) as nth
  from logs left join led using (topic, partition, broker)
)
select topic, partition, broker, log_start, log_end from ranked where nth = 1
