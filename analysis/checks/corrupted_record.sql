/*
id: A6
definition: A group was delivered a value with a wrong checksum.
evaluates: every delivery.
source: '`contract/events.py`: the checksum is part of the value.'
needs: [polls]
evaluated: select coalesce(sum(records), 0) as evaluated from deliveries
cases:
- violation: corrupted
  cause: the value's checksum does not match
evidence: records, value
*/
with corrupted as (
  select group, topic, partition, first_offset as offset, last_offset, polled_micros,
    coalesce(value, concat(producer, ':', cast(first_sequence as string))) as value
  from polls
  where not is_intact
)
select *
from {{ spans("corrupted", "group, topic, partition",
  "min(polled_micros) as at, min(value) as value,") }}
