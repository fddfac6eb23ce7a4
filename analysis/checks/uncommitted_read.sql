/*
id: A11
definition: A member was delivered a record that lay above the high watermark.
explanation: The leader of the record's epoch was asked later, by more than the clock bound, and
  reported a high watermark at or below the record. Within an epoch it does not go back, and no
  follower knows a higher one. A leader of a newer epoch may, and serves records of the older one,
  so deliveries from its election on are not judged. Without such a report it is not known where
  the high watermark was.
evaluates: deliveries of partitions that were created once, in epochs whose leader reported its
  high watermark, before a newer epoch began.
source: >-
  Kafka's documentation, Replication: only committed records are given to consumers; KIP-392: a
  follower serves records up to its own high watermark.
needs: [polls, samples, leaderships]
evaluated: >-
  select coalesce(sum(records), 0) as evaluated
  from delivered left semi join reported using (topic, partition, leader_epoch)
cases:
- violation: above the high watermark
  cause: >-
    {member} received records up to offset {offset_last} of epoch {leader_epoch}; the leader of
    that epoch reported high watermark {high_watermark} {later_ms:.0f} ms later
evidence: member, leader_epoch, high_watermark, records, later_ms, may_be_of_follower
*/
with delivered as (
  select group, member, d.topic, d.partition, d.leader_epoch, first_offset, last_offset, records,
    at_micros
  from deliveries as d join leader_epochs as led
    on (led.topic, led.partition, led.epoch) = (d.topic, d.partition, d.leader_epoch)
  where until_micros is null or at_micros + :clock_micros < until_micros
),
reported as (
  select topic, partition, leader_epoch, {{ asked }} - :clock_micros as moment,
    log_end_offset as high_watermark
  from samples left semi join created_once using (topic, partition)
  where broker = leader and log_end_offset >= 0
),
moments as (
  select group, member, topic, partition, leader_epoch, first_offset, last_offset,
    at_micros as moment, null as report
  from delivered
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
