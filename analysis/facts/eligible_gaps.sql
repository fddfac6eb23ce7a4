/*
about: |
  Acknowledged records that some of the eligible leader replicas have, and some have not, of a
  partition that has nobody in sync at the end.

  Each of these replicas may be the next leader, and has to have all that was committed (KIP-966).
  One whose log starts above the record does not lack it.
subject: replicas
columns:
  broker: that lacks it
  holders: the eligible leader replicas that have it
  offset: the first one
  last_offset: inclusive
  is_for_all: whether its send waited for the whole ISR, so that it was committed
  permit: the first event since, in words, that permits a loss of the partition
  is_damaged: whether a fault wiped or cut a log of the broker that lacks it
*/
with states as (
  select topic, partition, max_by(struct(isr, elr), metadata_offset) as last
  from leaderships
  group by all
),
eligible as (
  select topic, partition, broker, coalesce(log_start_offset, 0) as own_start
  from states join log_starts using (topic, partition)
  where size(last.isr) = 0 and array_contains(last.elr, broker)
),
held as (
  select topic, partition, offset, last_offset, records, value,
    sort_array(collect_set(broker)) as holders
  from sliced_replica_records left semi join eligible using (topic, partition, broker)
  group by all
),
lacking as (
  select topic, partition, broker, offset, last_offset, records, value, holders
  from held join eligible using (topic, partition)
  where not array_contains(holders, broker) and offset >= own_start
),
acknowledged as (
  select topic, partition, broker, offset, last_offset, holders, producer, acks, answered_micros,
    {{ is_for_all }} as is_for_all
  from lacking
  join (
    select topic, partition, offset, value, producer, acks, answered_micros
    from sliced_acknowledged) using (topic, partition, offset, value)
),
damaged as (
  select distinct broker, true as is_damaged
  from (select explode(brokers) as broker from faults where fault in ('wipe', 'cut tails'))
),
permitted as (
  select topic, partition, at_micros, words from permits
)
select topic, partition, broker, offset, last_offset, holders, producer, acks, answered_micros,
  is_for_all, coalesce(is_damaged, false) as is_damaged,
  min_by(words, at_micros) filter (where at_micros + :clock_micros >= answered_micros) as permit
from acknowledged
left join permitted using (topic, partition)
left join damaged using (broker)
group by all
