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
  last_micros bigint
*/
select group, topic, partition, offset, last_offset, records, value, count(*) as deliveries,
  max(polled_micros) as last_micros
from sliced_polls
group by all
having count(*) > 1
