/*
id: G13
definition: A broker accepted an old producer epoch after a newer one, or a gap in sequence
  numbers.
explanation: A batch follows one of a higher producer epoch in the log; the first sequence number
  of a batch is above the one that follows its predecessor, of the same producer id and epoch; or a
  send, a commit or offsets were acknowledged, though begun after a newer epoch of the
  transactional.id was reported. `duplicate_append` finds lower sequence numbers.
undecided: another worker reported the newer epoch, no more than the clock bound before, or the
  clock of the worker was set by as much; a commit or offsets have an unknown outcome; or the
  client reports no epoch.
evaluates: batches of producer ids whose epoch was raised within a log, batches that follow
  others of their producer epoch, and acts begun after a newer epoch was reported.
source: '`ProducerAppendInfo.checkProducerEpoch`, `ProducerAppendInfo.checkSequence`; KIP-98.'
needs: [replica_batches, log_starts]
evaluated: >-
  select sum(records) as evaluated from (
    select count(*) as records from in_order where is_raised
    union all select count(*) from numbered_batches
    union all select coalesce(sum(acts), 0) from acts_of_fenced)
cases:
- violation: appended
  cause: >-
    {batches} batches of producer id {producer_id}, epoch {producer_epoch}, were appended after a
    batch of epoch {newer_epoch}
- violation: '{act}'
  when: outcome = 'ok'
  cause: >-
    {acts} times {act} by {producer} with epoch {producer_epoch}, begun after newer epoch
    {coalesce(cast(newer_epoch as string), '(of another producer)')} was reported: {outcome}
    ({coalesce(error, 'no error')})
  undecided_if: is_unsure
- undecided: '{act}'
  when: outcome = 'unknown'
  cause: >-
    {acts} times {act} by {producer} with epoch {producer_epoch}, begun after newer epoch
    {coalesce(cast(newer_epoch as string), '(of another producer)')} was reported: {outcome}
    ({coalesce(error, 'no error')})
- permitted: refused with another error
  cause: >-
    {acts} times {act} by {producer} with epoch {producer_epoch}, begun after newer epoch
    {coalesce(cast(newer_epoch as string), '(of another producer)')} was reported: {outcome}
    ({coalesce(error, 'no error')})
- violation: gap
  cause: a batch of producer id {producer_id}, epoch {producer_epoch}, begins at sequence number
    {base_sequence}, {ahead} above the expected one
evidence: producer, transaction, transactional_id, producer_id, producer_epoch, newer_epoch, acts,
  outcome, error, batches, base_sequence, ahead
*/
with batches as (
  select distinct topic, partition, base_offset, last_offset, producer_id, producer_epoch
  from replica_batches left semi join survivors using (topic, partition, broker)
  where producer_id >= 0
),
in_order as (
  select *, min(producer_epoch) over of_id < max(producer_epoch) over of_id as is_raised,
    max(producer_epoch) over (
      partition by topic, partition, producer_id order by base_offset, producer_epoch
      rows between unbounded preceding and 1 preceding) as newer_epoch
  from batches
  window of_id as (partition by topic, partition, producer_id)
),
acted as (
  select *,
    began_micros - raised_micros <= if(worker = raised_by, :jump_micros, :clock_micros) as is_near
  from acts_of_fenced
  where outcome = 'ok'
    or outcome = 'unknown' and act != 'send'
    or outcome = 'failed'
      and error not in ('ProducerFencedException', 'InvalidProducerEpochException')
)
select 'appended' as kind, topic, partition, min(base_offset) as offset_first,
  max(last_offset) as offset_last, null as at, null as producer, null as transaction,
  null as transactional_id, producer_id, producer_epoch, newer_epoch, null as act, null as acts,
  null as outcome, null as error, false as is_unsure, count(*) as batches, null as base_sequence,
  null as ahead
from in_order
where producer_epoch < newer_epoch
group by topic, partition, producer_id, producer_epoch, newer_epoch
union all
select 'gap', topic, partition, base_offset, last_offset, null, null, null, null, producer_id,
  producer_epoch, null, null, null, null, null, false, null, base_sequence, ahead
from numbered_batches
where ahead between 1 and 1073741823
union all
select if(outcome = 'failed', 'refused with another error', act), topic, partition,
  min(first_offset), max(last_offset), min(began_micros), producer, transaction, transactional_id,
  null, producer_epoch, newer_epoch, act, sum(acts), outcome, error,
  outcome = 'ok' and (is_near or newer_epoch is null) as is_unsure, null, null, null
from acted
group by all
