/*
about: Slices that a group was delivered more than once.
subject: progress
columns: |
  group string
  topic string
  partition int
  offset bigint: the first one
  last_offset bigint: inclusive
  records bigint: how many records
  value string
  deliveries bigint
  first_micros bigint: of the first delivery
  last_micros bigint: of the last one
*/
select group, topic, partition, offset, last_offset, records, value, count(*) as deliveries,
  min(polled_micros) as first_micros, max(polled_micros) as last_micros
from sliced_polls
group by all
having count(*) > 1
