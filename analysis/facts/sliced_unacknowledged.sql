/*
about: Values of `sends` that were not acknowledged, or without an offset; each by itself.
subject: slices
kept: false
columns: |
  worker string: whose history or log has it
  topic string
  partition int
  acks string
  outcome string: ok, failed (certainly not written) or unknown
  error string: simple name of the client's exception
  intended_micros bigint: null if that line is missing
  answered_micros bigint: null without an outcome
  transaction int: the producer's number of its transaction, from 0; null outside of one
  is_idempotent boolean: `enable.idempotence` of the producer; null where not known
  in_flight_max int: its `max.in.flight.requests.per.connection`; null where not known
  offset bigint: the first one
  last_offset bigint: inclusive
  records bigint: how many records
  producer string
  sequence bigint: of the first value
  value string: `producer:sequence` of the first record; one that is not intact is in quotation
    marks
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
