/*
id: C10
definition: A group's records were processed by two committed transactions, each with its output.
explanation: What a transaction processed is what its member was delivered since the transaction
  before, up to the offset that the transaction committed. Its member is the last one in its worker
  that was delivered records before it sent its offsets. Both transactions are committed, with
  offsets and output, and the offsets of both are in the surviving log; `output_without_offsets`
  evaluates the others.
evaluates: every committed transaction with output and offsets.
source: 'KIP-98, sendOffsetsToTransaction; KIP-447: a new member waits for open transactions.'
needs: [transactions, sends, polls, committed_offsets]
evaluated: select count(*) as evaluated from sent where is_judged
cases:
- undecided: commit not reported
  when: led_by = 'commit not reported'
  cause: >-
    {records} records were processed by transaction {first.transaction} of {first.producer}, and
    again by transaction {second.transaction} of {second.producer}; the group had been led back by
    a commit that no client of the run reports
- permitted: '{led_by}'
  when: led_by is not null
  cause: >-
    {records} records were processed by transaction {first.transaction} of {first.producer}, and
    again by transaction {second.transaction} of {second.producer}; the group had been led back
- violation: processed again
  cause: >-
    {records} records were processed by transaction {first.transaction} of {first.producer}, and
    again by transaction {second.transaction} of {second.producer}
evidence: first, second, records, led_by
*/
with written as (
  select distinct producer, transaction from transactional_writes where ended_as = 'committed'
),
answered as (
  select producer, transaction, worker, max(seq) as seq
  from transactions
  where step = 'send_offsets' and outcome = 'ok'
  group by all
),
sent as (
  select worker, group, topic, partition, seq, offset as end_offset,
    struct(producer, transaction) as of_transaction,
    coalesce(marker = 'commit' and w.producer is not null, false) as is_judged
  from offset_commits
  join answered using (producer, transaction)
  left semi join present_offsets using (offsets_partition, offsets_offset)
  left join written as w using (producer, transaction)
),
in_turn as (
  select worker, group, topic, partition, member, seq, offset, last_offset, records,
    polled_micros, null as next_sent
  from sliced_polls left semi join sent using (group)
  union all
  select worker, group, topic, partition, null, seq, null, null, null, null,
    struct(of_transaction, end_offset, is_judged)
  from sent
),
-- A transaction processed what its member was delivered before it sent its offsets.
given as (
  select *, last_value(next_sent) ignore nulls over (
      partition by worker, group, topic, partition order by seq desc) as sent
  from in_turn
),
processed as (
  select *, max_by(member, seq) over (partition by sent.of_transaction) as sent_by
  from given
  where sent.is_judged and member is not null
),
pairs as (
  select group, topic, partition, offset, last_offset, records,
    min_by(sent.of_transaction, polled_micros) as first,
    max_by(sent.of_transaction, polled_micros) as second,
    min(polled_micros) as first_micros, max(polled_micros) as at_micros
  from processed
  where member = sent_by and last_offset < sent.end_offset
  group by all
),
led as (
  select group, topic, partition, to_offset, at_micros as led_micros, cause from client_resets
  union all
  select group, topic, partition, offset, committed_micros,
    if(is_reported, 'administrator', 'commit not reported')
  from administered
),
repeated as (
  select pairs.*, max(cause) filter (where led_micros between first_micros and at_micros
    and to_offset <= offset) as led_by
  from pairs left join led using (group, topic, partition)
  where first != second
  group by all
)
select group, topic, partition, first, second, led_by, min(offset) as offset_first,
  max(last_offset) as offset_last, sum(records) as records, min(at_micros) as at
from repeated
group by all
