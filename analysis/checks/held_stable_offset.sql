/*
id: C9
definition: A transaction held back the last stable offset for 2 s or more, with offsets behind it.
explanation: From its first write to its marker, no read_committed group is given what lies
  behind that write. `hanging_transaction` finds transactions without a marker.
permitted: >-
  the transaction was open: `transaction.timeout.ms` of its producer bounds that; or its marker was
  written 10 s after its end or earlier, or a fault was in force meanwhile.
evaluates: each partition of each transaction that has a marker.
source: >-
  KIP-98: the last stable offset; `TransactionMarkerChannelManager` writes the markers once the end
  is stored.
needs: [transactions, sends, replica_batches]
evaluated: select count(*) as evaluated from ended
cases:
- violation: after its end
  when: late_seconds > 10
  cause: transaction {transaction} of {producer} held back the last stable offset for
    {seconds:.1f} s; {behind} offsets lay behind it; its marker was written {late_seconds:.1f} s
    after its end
  permitted_if: faults > 0
- permitted: after its end
  when: late_seconds > 2
  cause: transaction {transaction} of {producer} held back the last stable offset for
    {seconds:.1f} s; {behind} offsets lay behind it; its marker was written {late_seconds:.1f} s
    after its end
- permitted: open
  cause: transaction {transaction} of {producer} held back the last stable offset for
    {seconds:.1f} s; {behind} offsets lay behind it
evidence: producer, transaction, transactional_id, behind, seconds, late_seconds, faults
place:
  offset_last: marker_offset
  at: began_micros
*/
with ended as (
  select topic, partition, producer, transaction, marker_offset, min(offset) as offset_first,
    sum(records) as records, min(answered_micros) as began_micros
  from transactional_writes
  where marker is not null and answered_micros is not null
  group by all
),
markers as (
  select topic, partition, base_offset as marker_offset, min(max_timestamp_micros) as ended_micros
  from replica_batches left semi join survivors using (topic, partition, broker)
  where is_control
  group by all
),
closed as (
  select producer, transaction, min(at_micros) as closed_micros,
    min(transactional_id) as transactional_id
  from transactions
  where step in ('commit', 'abort') and outcome = 'ok'
  group by all
),
held as (
  select *, marker_offset - offset_first - records as behind,
    (ended_micros - began_micros) / {{ micros_per_second }} as seconds,
    (ended_micros - closed_micros) / {{ micros_per_second }} as late_seconds
  from ended
  join markers using (topic, partition, marker_offset)
  left join closed using (producer, transaction)
  where marker_offset - offset_first > records
    and ended_micros - began_micros >= 2 * {{ micros_per_second }}
)
select held.*, count(f.injected_micros) as faults
from held
left join held_faults as f on f.injected_micros <= held.ended_micros
  and coalesce(f.ended_micros >= closed_micros, true)
group by all
