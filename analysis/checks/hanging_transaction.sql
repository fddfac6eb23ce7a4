/*
id: C5
definition: The log has writes of a transaction and no marker that ends them.
explanation: The last stable offset stays before these writes, so read_committed groups can't
  read beyond it. A transaction has ended if its client or its coordinator reports that, or if
  another producer of its transactional.id was initialized. One that was committed without a marker
  is never visible to them; the evidence counts those that read no further, and the offsets behind.
permitted: by an election since it ended that permits the loss of its marker, unless a record
  that was sent 10 s after it ended lies below where the leader's epoch started, so that the marker
  was to be before it; or it has not ended, and it began 900 s ago or less (the default of
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
with unended as (
  select topic, partition, producer, transaction, min(offset) as offset_first,
    max(last_offset) as offset_last, sum(records) as records, max(answered_micros) as written_micros
  from held_writes
  where marker is null and outcome != 'failed'
  group by all
),
begun as (
  select producer, transaction, transactional_id, began_micros as begun_micros
  from transactions
  where change = 'begun'
),
closings as (
  select transactional_id, step, producer as by_producer, transaction as of_transaction,
    struct(at_micros, step = 'commit' or coalesce(state, '') = 'CompleteCommit' as is_committed)
      as closing
  from transactions
  where outcome = 'ok' and (step in ('commit', 'abort', 'initialize')
    or step = 'describe' and state in ('Empty', 'CompleteCommit', 'CompleteAbort', 'Dead'))
),
ended as (
  select unended.*, begun_micros,
    min(closing) filter (where closing.at_micros > coalesce(written_micros, begun_micros)
      and if(step in ('commit', 'abort'), by_producer = producer and of_transaction = transaction,
        by_producer != producer)) as closing
  from unended
  left join begun using (producer, transaction)
  left join closings using (transactional_id)
  group by all
),
last_seen as (
  select max(at_micros) as last_micros
  from (
    select at_micros from samples
    union all
    select at_micros from transactions)
),
later as (
  select topic, partition, offset as later_offset, intended_micros
  from sliced_acknowledged left semi join surviving_records using (topic, partition, offset, value)
),
-- The marker was to be before the first record that was sent when every marker is written.
required as (
  select ended.*,
    min(later_offset) filter (where later_offset > offset_last
      and intended_micros >= closing.at_micros + 10 * {{ micros_per_second }}) as required_before
  from ended left join later using (topic, partition)
  group by all
),
held as (
  select topic, partition, producer, transaction, count(distinct group) as held
  from required
  join last_positions using (topic, partition)
  left semi join committed_readers using (group, topic)
  where position <= offset_first
  group by all
),
placed as (
  select required.*, timeline, coalesce(held, 0) as held,
    closing.at_micros as closed_micros, coalesce(closing.is_committed, false) as is_committed,
    log_end - offset_first - records as behind,
    (last_micros - coalesce(closing.at_micros, begun_micros)) / {{ micros_per_second }} as seconds
  from required
  cross join last_seen
  left join held using (topic, partition, producer, transaction)
  left join log_bounds using (topic, partition)
  left join timelines using (topic, partition)
)
select * from {{ with_later_permit("placed", since="closed_micros", offset="required_before") }}
