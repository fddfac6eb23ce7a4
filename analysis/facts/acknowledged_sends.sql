/*
about: All acknowledged sends, as the ranges in which they were sent.
subject: deliveries
kept: false
columns:
  written_micros: when a value was written by its producer's clock, or else when it was answered
*/
select producer, topic, partition, transaction, acks, first_sequence, last_sequence, first_offset,
  last_offset, last_offset - first_offset + 1 as records, intended_micros, answered_micros,
  coalesce(intended_micros, answered_micros) as written_micros
from sends
where {{ is_acknowledged }}
