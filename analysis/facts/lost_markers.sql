/*
about: |
  Commit markers that an election permits to be lost.

  The client had committed the transaction, but an abort marker ends its writes: it may be that of a
  later transaction of the producer. An election that kept the commit marker lost none before it.
subject: transactions
columns:
  marker_offset: of the abort marker
  marker_permit: the election
*/
with contrary as (
  select distinct topic, partition, producer, transaction, marker_offset, commit_micros
  from transactional_writes as w join transaction_ends using (producer, transaction)
  where w.reported = 'committed' and marker = 'abort'
),
placed as (
  select * from contrary left join timelines using (topic, partition)
)
select topic, partition, producer, transaction, marker_offset, permit as marker_permit
from {{ with_later_permit("placed", since="commit_micros", offset="marker_offset") }}
where permit.cause = 'election'
