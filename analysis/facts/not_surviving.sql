/*
about: Slices of acknowledged sends whose value is not in the surviving log.
subject: acknowledgements
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
select * from sliced_acknowledged left anti join surviving_records using (topic, partition, value)
