/*
id: A5
definition: A group was delivered, or a log has, a value that no producer set out to send there.
explanation: Of a log only values count that were meant for another partition; others may be of a client
  that the run does not know.
evaluates: every delivery, and every record of the surviving log.
source: 'the histories: a producer records each value before it sends it.'
needs: [polls, sends]
optional: [surviving_records]
evaluated: >-
  select (select coalesce(sum(records), 0) from deliveries)
    + (select coalesce(sum(records), 0) from surviving_records) as evaluated
cases:
- violation: misplaced
  when: meant_for is not null
  cause: the value was meant for {meant_for}
- violation: phantom
  cause: no producer intended this value
evidence: records, value, meant_for
*/
with meant as (
  select value, min(concat(topic, '-', cast(partition as string))) as meant_for
  from sliced_sends
  group by all
),
not_sent as (
  select group, topic, partition, offset, last_offset, records, value, polled_micros, meant_for
  from sliced_polls
  left anti join sliced_sends using (topic, partition, value)
  left join meant using (value)
  where is_intact
  union all
  select null, topic, partition, offset, last_offset, records, value, null, meant_for
  from surviving_records
  left anti join sliced_sends using (topic, partition, value)
  join meant using (value)
)
select *
from {{ spans("not_sent", "group, topic, partition, meant_for",
  "min(polled_micros) as at, min(value) as value,") }}
