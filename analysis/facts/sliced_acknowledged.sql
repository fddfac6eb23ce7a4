/*
about: Slices of `sends` that were acknowledged with an offset.
subject: slices
columns:
  worker: whose history or log has it
  outcome: ok, failed (certainly not written) or unknown
  error: simple name of the client's exception
  intended_micros: null if that line is missing
  answered_micros: null without an outcome
  transaction: the producer's number of its transaction, from 0; null outside of one
  is_idempotent: '`enable.idempotence` of the producer; null where not known'
  in_flight_max: its `max.in.flight.requests.per.connection`; null where not known
  offset: the first one
  last_offset: inclusive
  records: how many records
  sequence: of the first value
  value: '`producer:sequence` of the first record; one that is not intact is in quotation marks'
*/
with acknowledged as (
  select * from sends where {{ is_acknowledged }}
)
{{ slices_of("acknowledged", "worker, topic, partition, acks, outcome, error, intended_micros,
  answered_micros, transaction, is_idempotent, in_flight_max") }}
