/*
about: Rows of `committed_offsets` about topics as they are at the end.
subject: positions
like: client_offsets
columns: |
  survives boolean: whether a replica in the last ISR of its partition holds it, or that is not
    known
*/
with last_isrs as (
  select partition as offsets_partition, max_by(isr, metadata_offset) as last_isr
  from leaderships
  where topic = {{ offsets_topic }}
  group by partition
)
select * except (last_isr),
  coalesce(size(last_isr) = 0 or arrays_overlap(brokers, last_isr), true) as survives
from {{ of_present_topic("client_offsets", "committed_micros") }}
left join last_isrs using (offsets_partition)
