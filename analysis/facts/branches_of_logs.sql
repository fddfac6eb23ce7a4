/*
about: |
  The branches of a partition's log that the surviving log does not have, by leader epoch: what
  replicas truncated, as far as it was kept before, and what others have at the end in other epochs.
subject: drawn
optional: [cut_batches, truncations]
columns:
  branch: numbers those of one broker
  is_truncated: else the broker has it at the end
  at_micros: when it was truncated; null if no log line shows it
  ends: exclusive; null if it is not known
*/
with main as (
  select s.*, min(begins) over (
      partition by topic, partition order by epoch rows between 1 following and unbounded following)
      as later
  from segments_of_logs as s left semi join drawn_logs using (topic, partition, broker)
),
copied as (
  select topic, partition, broker, leader_epoch as epoch, min(base_offset) as begins,
    max(last_offset) + 1 as ends
  from cut_batches
  group by topic, partition, broker, leader_epoch
),
forks as (
  select topic, partition, broker, min_by(begins, epoch) as fork from copied group by all
),
cut as (
  select topic, partition, broker, max(t.at_micros) as at_micros
  from forks join truncations as t using (topic, partition, broker)
  where to_offset <= fork
  group by all
),
unknown as (
  select t.topic, t.partition, t.broker, to_offset, min(at_micros) as at_micros
  from truncations as t
  join drawn_logs as d on (d.topic, d.partition) = (t.topic, t.partition)
  left anti join copied as c
    on (c.topic, c.partition, c.broker) = (t.topic, t.partition, t.broker)
  where to_offset < log_end
  group by all
),
-- The epoch of the record before, or else the first one of the log.
placed as (
  select u.*, coalesce(max(epoch) filter (where begins < to_offset and ends >= to_offset),
      min_by(epoch, begins)) as epoch
  from unknown as u join main using (topic, partition)
  group by u.topic, u.partition, u.broker, to_offset, at_micros
),
diverged as (
  select s.topic, s.partition, s.broker, s.epoch, s.ends,
    greatest(s.begins, s.log_start_of_main, case
      when m.epoch is null then s.begins else coalesce(m.later, m.log_end) end) as begins
  from (
    select o.*, d.log_start as log_start_of_main
    from segments_of_logs as o join drawn_logs as d using (topic, partition)) as s
  left join main as m
    on m.topic = s.topic and m.partition = s.partition and m.epoch = s.epoch
)
select topic, partition, broker, cast(0 as bigint) as branch, true as is_truncated, at_micros,
  epoch, begins, ends
from copied left join cut using (topic, partition, broker)
union all
select topic, partition, broker, to_offset, true, at_micros, epoch, to_offset, null from placed
union all
select topic, partition, broker, -1, false, null, epoch, begins, ends
from diverged
where begins < ends
