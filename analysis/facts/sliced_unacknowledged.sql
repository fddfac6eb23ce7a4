/*
about: Values of `sends` that were not acknowledged, or without an offset; one value a row.
subject: slices
kept: false
like: sliced_acknowledged
*/
with single as (
  select *, explode(sequence(first_sequence, last_sequence)) as sequence
  from sends
  where not coalesce({{ is_acknowledged }}, false)
)
select worker, topic, partition, acks, outcome, error, intended_micros, answered_micros,
  transaction, is_idempotent, in_flight_max, first_offset + sequence - first_sequence as offset,
  first_offset + sequence - first_sequence as last_offset, cast(1 as bigint) as records, producer,
  sequence, {{ value_at("sequence") }} as value
from single
