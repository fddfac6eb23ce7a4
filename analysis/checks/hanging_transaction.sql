/*
id: C5
definition: The log has writes of a transaction and no marker that ends them.
explanation: The last stable offset stays before these writes, so read_committed groups can't
  read beyond it. A transaction has ended if its client or its coordinator reports that, or if
  another producer of its transactional.id was initialized. One that was committed without a marker
  is never visible to them; the evidence counts those that read no further, and the offsets behind.
  How long ago it was is counted from the last sample of a leader or step of a producer.
permitted: by an election since it may have ended that permits the loss of its marker, unless a
  record that was sent 10 s after it had ended lies below where the leader's epoch started, so that
  the marker was to be before it; or it has not ended, and it began 900 s ago or less (the default of
  `transaction.max.timeout.ms`).
undecided: it ended 10 s ago or less.
evaluates: each partition of each transaction whose writes the log has.
source: KIP-664; KIP-890.
needs: [transactions, sends, replica_records, replica_batches]
evaluated: >-
  select count(*) as evaluated
  from (select distinct topic, partition, producer, transaction from held_writes)
cases:
- permitted: committed, never visible
  when: is_committed and permit is not null
  cause: >-
    {records} writes of transaction {transaction} of {producer} have no marker, {seconds:.0f} s
    after it was committed; read_committed groups that read no further: {held}; {permit.words}
- violation: committed, never visible
  when: is_committed and seconds > 10
  cause: >-
    {records} writes of transaction {transaction} of {producer} have no marker, {seconds:.0f} s
    after it was committed; read_committed groups that read no further: {held}
- undecided: committed, never visible
  when: is_committed
  cause: >-
    {records} writes of transaction {transaction} of {producer} have no marker, {seconds:.0f} s
    after it was committed; read_committed groups that read no further: {held}
- permitted: ended without a marker
  when: closed_micros is not null and permit is not null
  cause: >-
    {records} writes of transaction {transaction} of {producer} have no marker, {seconds:.0f} s
    after it was ended; {permit.words}
- violation: ended without a marker
  when: closed_micros is not null and seconds > 10
  cause: >-
    {records} writes of transaction {transaction} of {producer} have no marker, {seconds:.0f} s
    after it was ended
- undecided: ended without a marker
  when: closed_micros is not null
  cause: >-
    {records} writes of transaction {transaction} of {producer} have no marker, {seconds:.0f} s
    after it was ended
- violation: open
  when: seconds > 900
  cause: >-
    {records} writes of transaction {transaction} of {producer} have no marker, {seconds:.0f} s
    after it began
- permitted: open
  cause: >-
    {records} writes of transaction {transaction} of {producer} have no marker, {seconds:.0f} s
    after it began
evidence: records, producer, transaction, seconds, closed_micros, held, behind, permit
place:
  at: begun_micros
*/
with last_seen as (
  select max(at_micros) as last_micros
  from (
    select at_micros from samples
    union all
    select at_micros from transactions)
),
held as (
  select topic, partition, producer, transaction, count(distinct group) as held
  from unended_writes
  join last_positions using (topic, partition)
  left semi join committed_readers using (group, topic)
  where position <= offset_first
  group by all
)
select u.*, coalesce(held, 0) as held, log_end - offset_first - records as behind,
  (last_micros - coalesce(closed_micros, begun_micros)) / {{ micros_per_second }} as seconds
from unended_writes as u
cross join last_seen
left join held using (topic, partition, producer, transaction)
left join log_bounds using (topic, partition)
