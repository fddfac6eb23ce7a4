/*
about: '`sends`, with the number of values in a range.'
subject: deliveries
kept: false
columns: |
  worker string: whose history or log has it
  producer string: null where the value is damaged or missing, except in `sends`
  first_sequence bigint: of the producer, from 0; null where `producer` is null
  last_sequence bigint
  value string: text of a value that is damaged or, in `sends`, not that of its sequence number;
    else null
  first_offset bigint
  last_offset bigint
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
  records bigint: how many values
*/
select *, last_sequence - first_sequence + 1 as records from sends
