/*
about: What is known of the logs of partitions that had enough epochs for a leader to lack one.
subject: lineage
kept: false
regardless: [cut_batches, replica_batches, samples, truncations]
columns:
  starts: of its epochs, those of which is known where they started
  logs: the epochs of each log that was seen whole, as a replica held it before a fault ended, or
    at the end (at 0), and up to which offset it is known to go (exclusive)
  leaders_reached: the same of its leader's log
  states: of the metadata log
  cuts: the truncations of its replicas
*/
with forked as (
  -- With fewer epochs, a leader can't lack one that began between two others.
  select topic, partition, collect_list(struct(leader_epoch, start_high, from_micros)) as starts
  from epochs
  where start_high is not null
  group by all
  having count(*) >= 3
),
ends as (
  select topic, partition, broker, cast(0 as bigint) as at_micros, leader_epoch,
    coalesce(lead(start_offset) over (
      partition by broker, topic, partition order by leader_epoch), start_offset) as reached
  from epoch_checkpoints
  union all
  select topic, partition, broker, cast(0 as bigint), leader_epoch, last_offset + 1
  from replica_batches
  union all
  select topic, partition, broker, taken_micros, leader_epoch, last_offset + 1 from cut_batches
),
ends_of_epochs as (
  select topic, partition, broker, at_micros, leader_epoch, max(reached) as reached
  from ends left semi join forked using (topic, partition)
  group by all
),
reports as (
  select topic, partition, leader_epoch, at_micros, log_end_offset as reached
  from samples
  where broker = leader and log_end_offset >= 0
  union all
  select topic, partition, leader_epoch, at_micros, last_offset + 1 from deliveries
),
reached as (
  select topic, partition, leader_epoch, max(reached) as reached
  from {{ of_present_topic("reports", "at_micros") }}
  left semi join forked using (topic, partition)
  group by all
)
select topic, partition, starts, logs, leaders_reached, states, cuts
from forked
left join (
  select topic, partition, collect_list(struct(broker, at_micros, leader_epoch, reached)) as logs
  from ends_of_epochs group by all) using (topic, partition)
left join (
  select topic, partition, collect_list(struct(leader_epoch, reached)) as leaders_reached
  from reached group by all) using (topic, partition)
left join (
  select topic, partition, collect_list(struct(leader_epoch, leader, isr)) as states
  from {{ of_present_topic("leaderships", "at_micros") }} group by all) using (topic, partition)
left join (
  select topic, partition, collect_list(struct(broker, at_micros, to_offset)) as cuts
  from {{ of_present_topic("truncations", "at_micros") }} group by all) using (topic, partition)
