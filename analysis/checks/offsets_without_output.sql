/*
id: C7
definition: The offsets of a transaction are committed, and writes of it are aborted or lost.
explanation: So the records up to these offsets were processed without a result.
evaluates: each transaction that wrote, and whose offsets are committed.
source: 'KIP-98, sendOffsetsToTransaction: offsets are part of the transaction.'
needs: [transactions, sends, committed_offsets, replica_batches]
evaluated: >-
  select count(*) as evaluated from (select distinct producer, transaction from written)
commits: true
cases:
- violation: aborted
  cause: transaction {transaction} of {producer} committed offsets of group {group}, but
    {records} of its writes are aborted
- permitted: lost
  when: permit is not null
  cause: transaction {transaction} of {producer} committed offsets of group {group}, but
    {records} of its writes are lost; {permit.words}
- violation: lost
  cause: transaction {transaction} of {producer} committed offsets of group {group}, but
    {records} of its writes are lost
- undecided: not ended
  cause: transaction {transaction} of {producer} committed offsets of group {group}, but
    {records} of its writes are not ended
evidence: records, producer, transaction, permit
*/
with written as (
  select w.*, s.group, timeline
  from transactional_writes as w
  join stored_of_transactions as s using (producer, transaction)
  left join timelines using (topic, partition)
  where w.outcome != 'failed' and s.committed > 0
),
judged as (
  select w.*, case
      when marker = 'abort' then 'aborted'
      when s.value is null then 'lost'
      when marker is null then 'not ended'
    end as kind
  from {{ with_later_permit("written") }} as w
  left join surviving_records as s using (topic, partition, value)
)
select group, topic, partition, producer, transaction, kind,
  if(kind = 'lost', permit, null) as permit, min(offset) as offset_first,
  max(last_offset) as offset_last, sum(records) as records
from judged
where kind is not null
group by all
