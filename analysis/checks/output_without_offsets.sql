/*
id: C8
definition: The writes of a transaction are committed, and the offsets it sent are aborted or not
  stored.
explanation: So what it read is processed again. A coordinator that changes in between may lose
  the offsets (KIP-1319). The offsets are of a group that the transaction's worker read for.
evaluates: each transaction with committed writes whose offsets were acknowledged.
source: 'KIP-98, sendOffsetsToTransaction: offsets are part of the transaction.'
needs: [transactions, sends, committed_offsets, replica_batches]
evaluated: select count(*) as evaluated from judged
commits: true
cases:
- permitted: not stored
  when: is_lost and permit is not null
  cause: transaction {transaction} of {producer} committed {records} writes, but the offsets that
    it sent are lost; {permit.words}
- undecided: not stored
  when: is_lost and is_superseded
  cause: transaction {transaction} of {producer} committed {records} writes, but the offsets that
    it sent are not stored; compaction may have removed them
- violation: not stored
  when: is_lost
  cause: transaction {transaction} of {producer} committed {records} writes, but the offsets that
    it sent are not stored
- violation: aborted
  when: aborted > 0
  cause: transaction {transaction} of {producer} committed {records} writes, but the offsets that
    it sent are aborted
- undecided: not ended
  cause: transaction {transaction} of {producer} committed {records} writes, but the offsets that
    it sent are not ended
evidence: records, producer, transaction, permit
*/
with sent as (
  select producer, transaction, max(at_micros) as at, min(began_micros) as began_micros,
    min(worker) as worker
  from transactions
  where step = 'send_offsets' and outcome = 'ok'
  group by all
),
wrote as (
  select producer, transaction, sum(records) as records
  from transactional_writes
  where marker = 'commit'
  group by all
),
judged as (
  select sent.*, records, s.group, stored, committed, aborted
  from sent
  join wrote using (producer, transaction)
  left join stored_of_transactions as s using (producer, transaction)
  where exists (select 1 from client_offsets where producer_id is not null)
),
uncommitted as (
  select * from judged where coalesce(committed, 0) < coalesce(stored, 1)
),
-- The offsets may be of each partition that the worker read, for each group.
readers as (
  select distinct worker, group as reader, topic, partition from deliveries
),
of_groups as (
  select u.*, offsets_partition,
    coalesce(last_low > at and not oldest_high < began_micros, false) as is_followed
  from uncommitted as u
  left join readers using (worker)
  left join places_of_groups as p on p.group = reader
  left join stored_bounds as b
    on (b.group, b.topic, b.partition) = (reader, readers.topic, readers.partition)
)
select producer, transaction, group, at, records, aborted, stored is null as is_lost,
  min(permit) as permit, max(is_followed) as is_superseded
from {{ with_offsets_permit("of_groups", "at", "coalesce(offsets_partition, -1)") }}
group by all
