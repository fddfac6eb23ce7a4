/*
about: Rows of `transactional_writes` that the surviving log has.
subject: transactions
columns: |
  topic string
  partition int
  producer string
  transaction int
  offset bigint
  last_offset bigint: inclusive
  records bigint
  outcome string: of the send
  answered_micros bigint
  marker string: the control record that ends it; null where none does
*/
select topic, partition, producer, transaction, offset, last_offset, records, outcome,
  answered_micros, marker
from transactional_writes left semi join surviving_records using (topic, partition, value)
