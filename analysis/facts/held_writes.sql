/*
about: Rows of `transactional_writes` that the surviving log has.
subject: transactions
columns:
  last_offset: inclusive
  outcome: of the send
  marker: the control record that ends it; null where none does
*/
select topic, partition, producer, transaction, offset, last_offset, records, outcome,
  answered_micros, marker
from transactional_writes left semi join surviving_records using (topic, partition, value)
