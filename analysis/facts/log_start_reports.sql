/*
about: Each log start that was reported, once a source.
subject: topics
columns:
  is_low: the leader's was at least that from then on
  is_high: it was at most that until then
  is_logged: by a server's log
  reason: that the server logged
*/
with logged as (
  select c.topic, c.partition, c.broker, c.log_start_offset, c.reason, c.at_micros,
    max_by(l.leader, struct(l.at_micros, l.leader_epoch)) as leader
  from log_start_changes as c join leaderships as l
    on (l.topic, l.partition) = (c.topic, c.partition) and l.at_micros <= c.at_micros
  group by all
),
reports as (
  select topic, partition, log_start_offset as log_start, at_micros,
    true as is_low, true as is_high, false as is_logged, cast(null as string) as reason
  from samples
  where broker = leader and log_start_offset >= 0
  union all
  select topic, partition, log_start_offset, at_micros,
    broker = leader or reason = {{ of_leader }}, broker = leader, true, reason
  from logged
)
select topic, partition, log_start, is_low, is_high, is_logged, reason,
  min(at_micros) as first_micros, max(at_micros) as last_micros
from {{ of_present_topic("reports", "at_micros") }}
group by all
