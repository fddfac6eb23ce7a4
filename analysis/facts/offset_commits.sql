/*
about: |
  Stored offsets that belong to transactions.

  Which transaction it is follows from producer id and epoch; where several have the same, it is
  the last that had begun. Empty for older runs, whose commits have no producer id.
subject: transactions
columns:
  offset: null in a tombstone
  offsets_partition: of `__consumer_offsets`
  offsets_offset: in that partition
  marker: 'of the transaction: commit, abort; null outside of one, or where none ends it'
  producer: empty in a row of the coordinator
  transaction: the producer's number of its transaction, from 0; null before the first
*/
with begun as (
  select producer_id, producer_epoch, producer, transaction, began_micros
  from transactions
  where change = 'begun' and producer_id >= 0
),
sent as (
  select group, topic, partition, offset, offsets_partition, offsets_offset, marker, producer_id,
    producer_epoch, committed_micros,
    max_by(struct(producer, transaction), began_micros) as of_transaction
  from client_offsets join begun using (producer_id, producer_epoch)
  where not is_tombstone and began_micros <= committed_micros + :clock_micros
  group by all
)
select group, topic, partition, offset, offsets_partition, offsets_offset, marker,
  of_transaction.producer as producer, of_transaction.transaction as transaction
from sent
