/*
id: A11
definition: A member was delivered a record that lay above the high watermark.
explanation: The leader of the record's epoch was asked later, by more than the clock bound, and
  reported a high watermark at or below the record. Within an epoch it does not go back, and no
  follower knows a higher one. Without such a report it is not known where the high watermark was.
evaluates: deliveries of partitions that were created once, in epochs whose leader reported its
  high watermark.
source: >-
  Kafka's documentation, Replication: only committed records are given to consumers; KIP-392: a
  follower serves records up to its own high watermark.
needs: [polls, samples]
evaluated: >-
  select coalesce(sum(records), 0) as evaluated
  from deliveries left semi join reported using (topic, partition, leader_epoch)
cases:
- violation: above the high watermark
  cause: >-
    {member} received records up to offset {offset_last} of epoch {leader_epoch}; the leader of
    that epoch reported high watermark {high_watermark} {later_ms:.0f} ms later
evidence: member, leader_epoch, high_watermark, records, later_ms, may_be_of_follower
*/
with reported as (
  select topic, partition, leader_epoch, {{ asked }} - :clock_micros as moment,
    log_end_offset as high_watermark
  from samples left semi join created_once using (topic, partition)
  where broker = leader and log_end_offset >= 0
),
moments as (
  select group, member, topic, partition, leader_epoch, first_offset, last_offset,
    at_micros as moment, null as report
  from deliveries
  union all
  select null, null, topic, partition, leader_epoch, null, null, moment,
    struct(high_watermark, moment)
  from reported
),
in_turn as (
  select *, min(report) over (
      partition by topic, partition, leader_epoch order by moment desc, report is not null
      rows between unbounded preceding and 1 preceding) as later
  from moments
)
select group, member, topic, partition, leader_epoch, moment as at,
  later.high_watermark as high_watermark,
  greatest(first_offset, later.high_watermark) as offset_first, last_offset as offset_last,
  last_offset - greatest(first_offset, later.high_watermark) + 1 as records,
  (later.moment + :clock_micros - moment) / 1000 as later_ms,
  coalesce(has_rack, false) as may_be_of_follower
from in_turn left join planned_groups using (group)
where last_offset >= later.high_watermark
