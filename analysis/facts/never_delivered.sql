/*
about: |
  Slices of records that a group went past.

  The log held them at that time: some were deleted later, some truncated with their branch. A record counts as delivered if its
  value was, at whatever offset: a truncation gives an offset to another record. What a transaction
  wrote is left out for groups of which a member reads committed values only: whether they should
  have it is for `torn_transaction` to judge.
subject: progress
columns:
  offset: the first one
  last_offset: inclusive
  records: how many records
*/
with read_of_deleted as (
  select *
  from {{ of_present_topic("deliveries", "at_micros") }}
  left semi join deleted_partitions using (topic, partition)
),
-- The log start was at or below start_high when a group was delivered what lies above.
read_to as (
  select group, topic, partition, start_high, max(first_offset) as read_to
  from {{ with_log_starts("read_of_deleted") }}
  group by all
),
-- What a replica lost by a truncation, and how far a group had read of it.
cut as (
  select distinct topic, partition, broker, offset, last_offset, records, leader_epoch, value
  from sliced_cut_records left anti join surviving_records using (topic, partition, value)
),
read_of_cut as (
  select group, topic, partition, broker, max(offset) as read_to, max(polled_micros) as at_micros
  from {{ of_present_topic("sliced_polls", "polled_micros") }}
  join cut using (topic, partition, offset, value)
  group by all
),
read_before as (
  select r.group, r.topic, r.partition, broker, read_to, r.at_micros, min(first_offset) as read_from
  from read_of_cut as r join deliveries as d using (group, topic, partition)
  where d.at_micros <= r.at_micros
  group by all
),
passed as (
  select group, topic, partition, offset, last_offset, records, leader_epoch, value
  from surviving_records join final_positions using (topic, partition)
  where offset >= first_offset and offset < final_position
  union all
  select distinct group, topic, partition, offset, last_offset, records, leader_epoch, value
  from deleted_records
  join read_to using (topic, partition)
  join group_beginnings using (group, topic, partition)
  where offset >= greatest(start_high, first_offset) and offset < read_to
  union all
  select distinct group, topic, partition, offset, last_offset, records, leader_epoch, value
  from cut
  join {{ with_log_starts("read_before") }} using (topic, partition, broker)
  left anti join sliced_polls using (group, topic, partition, offset)
  where offset >= greatest(start_high, read_from) and offset < read_to
),
polled as (
  select * from {{ of_present_topic("sliced_polls", "polled_micros") }}
),
damaged as (
  select * from polled where not is_intact
),
missed as (
  select *
  from passed
  left anti join polled using (group, topic, partition, value)
  left anti join damaged using (group, topic, partition, offset, leader_epoch)
),
written as (
  select distinct value, true as is_written
  from sliced_sends left semi join missed using (value)
  where transaction is not null
)
select missed.* except (value)
from missed
left join planned_groups using (group)
left join written using (value)
where not coalesce(is_written and isolation = 'read_committed', false)
