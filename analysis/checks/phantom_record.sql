/*
id: A5
definition: A group was delivered a value that no producer set out to send.
evaluates: every delivery.
source: 'the histories: a producer records each value before it sends it.'
needs: [polls, sends]
evaluated: select coalesce(sum(records), 0) as evaluated from deliveries
cases:
- violation: phantom
  cause: no producer intended this value
evidence: records, value
*/
with phantoms as (
  select * from sliced_polls left anti join sliced_sends using (topic, partition, value)
  where is_intact
)
select *
from {{ spans("phantoms", "group, topic, partition",
  "min(polled_micros) as at, min(value) as value,") }}
