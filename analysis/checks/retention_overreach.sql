/*
id: G11
definition: Records were deleted that had to stay, or a log start is too high or went back.
explanation: A log start is above the high watermark that the leader reported with it, or later
  in the same epoch; it is lower than before; records were deleted though neither a retention nor
  the plan allows it; or they were younger than `retention.ms`, by the producer's clock.
evaluates: every log start that a leader reported, and that of each replica at the end.
source: KIP-107; `UnifiedLog.deleteRetentionMsBreachedSegments`.
needs: [log_starts, leaderships]
evaluated: >-
  select count(*) as evaluated
  from (select topic from reported union all select topic from log_starts)
exercised: expired_logs
tree: true
cases:
- violation: above the high watermark
  cause: log start {offset_first} is above high watermark {bound}
- violation: nothing allows deletion
  cause: log start {offset_first}, but nothing allows deletion; expected {bound}
- violation: younger than retention.ms
  cause: offset {offset_first} was deleted before its retention.ms of {bound}
- permitted: ordered
  cause: log start {offset_first}, up to which the run ordered to delete
- violation: went back
  cause: log start went back from {bound} to {offset_first}
- permitted: went back with its leader
  cause: log start went back from {bound} to {offset_first}; the leader had changed
evidence: bound
*/
with reported as (
  select * from samples left semi join created_once using (topic, partition)
  where broker = leader and log_start_offset >= 0
),
-- What a leader reported before its server logged an advance proves nothing about it: the high
-- watermark may have advanced in between.
advances as (
  select topic, partition, c.broker, epoch, log_start_offset, at_micros as advanced_micros
  from log_start_changes as c join leader_epochs using (topic, partition)
  where at_micros >= from_micros and (until_micros is null or at_micros < until_micros)
),
lower as (
  select topic, partition, at_micros, value, before
  from {{ in_order("reported", "topic, partition, leader_epoch", "log_start_offset") }}
  where value < before
),
of_epochs as (
  select topic, partition, leader_epoch,
    min(log_start_offset) as lowest, max(log_start_offset) as highest,
    min_by(at_micros, struct(log_start_offset, at_micros)) as at_micros
  from reported
  group by all
),
followed as (
  select *, max(highest) over (partition by topic, partition order by leader_epoch
      rows between unbounded preceding and 1 preceding) as highest_before
  from of_epochs
),
seen as (
  select topic, partition, log_start_offset, at_micros from reported
  union all
  select topic, partition, log_start_offset, null from log_starts
),
deleted as (
  select seen.topic, seen.partition, log_start_offset, at_micros,
    max(ordered.topic is not null) as is_ordered
  from seen left join {{ orders_of("seen", "log_start_offset", "at_micros + :clock_micros") }}
  where log_start_offset > 0
  group by all
),
unplanned as (
  select topic, partition, max(log_start_offset) as offset, min(at_micros) as at, is_ordered
  from deleted join planned_topics using (topic)
  where not deletes and retention_ms is null
  group by all
),
steps as (
  select topic, partition, retention_ms, log_start_offset as offset, min(at_micros) as at
  from deleted join planned_topics using (topic)
  where at_micros is not null and not is_ordered and not deletes
  group by all
),
timed as (
  select topic, partition, offset, at, retention_ms, cast(null as bigint) as written_micros
  from steps
  union all
  select topic, partition, first_offset, null, null, written_micros
  from acknowledged_sends left semi join steps using (topic, partition)
),
youngest as (
  select *, max(written_micros) over (partition by topic, partition order by offset
      range between unbounded preceding and 1 preceding) as youngest_micros
  from timed
)
select topic, partition, log_start_offset as offset_first, at_micros as at,
  'above the high watermark' as kind, log_end_offset as bound
from reported
where log_end_offset >= 0 and log_start_offset > log_end_offset
union all
select a.topic, a.partition, a.log_start_offset, advanced_micros, 'above the high watermark',
  min(log_end_offset)
from advances as a join reported as r
  on (r.topic, r.partition, r.broker, r.leader_epoch) = (a.topic, a.partition, a.broker, a.epoch)
where log_end_offset >= 0 and log_end_offset < a.log_start_offset
  and {{ asked }} > advanced_micros + :clock_micros
group by all
union all
select topic, partition, value, at_micros, 'went back', before from lower
union all
select topic, partition, lowest, at_micros, 'went back with its leader', highest_before
from followed
where lowest < highest_before
union all
select topic, partition, offset, at, if(is_ordered, 'ordered', 'nothing allows deletion'), 0
from unplanned
union all
select topic, partition, offset, at, 'younger than retention.ms', retention_ms
from youngest
where at - youngest_micros < retention_ms * 1000 - :clock_micros
