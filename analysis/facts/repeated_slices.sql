/*
about: Slices that a group was delivered more than once.
subject: progress
columns:
  offset: the first one
  last_offset: inclusive
  records: how many records
  first_micros: of the first delivery
  last_micros: of the last one
*/
select group, topic, partition, offset, last_offset, records, value, count(*) as deliveries,
  min(polled_micros) as first_micros, max(polled_micros) as last_micros
from sliced_polls
group by all
having count(*) > 1
