/*
about: |
  Writes of transactions that the surviving log has without a marker that ends them, and when the
  transaction ended.

  It has ended if its client or its coordinator reports that, or if another producer of its
  transactional.id was initialized. What a coordinator reports may have been so since the writes. An
  election since it may have ended permits the loss of its marker, unless a record that was sent 10 s
  after it had ended lies below where the leader's epoch started.
subject: transactions
optional: [transactions]
columns:
  offset_last: inclusive
  closed_micros: by when it had ended; null if that is not known
  closed_by: what shows it, in words
  is_committed: whether it was committed; false where that is not known
  permit: by what its marker may be lost
*/
with unended as (
  select topic, partition, producer, transaction, min(offset) as offset_first,
    max(last_offset) as offset_last, cast(sum(records) as bigint) as records,
    max(answered_micros) as written_micros
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
    struct(at_micros, if(step = 'describe', null, began_micros) as since_micros,
      step = 'commit' or coalesce(state, '') = 'CompleteCommit' as is_committed,
      case step
        when 'commit' then 'its producer had committed it'
        when 'abort' then 'its producer had aborted it'
        when 'initialize' then 'another producer of its transactional.id had been initialized'
        else concat('its coordinator reported the state ', state)
      end as words) as closing
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
placed as (
  select topic, partition, producer, transaction, offset_first, offset_last, records, begun_micros,
    closing.at_micros as closed_micros, closing.words as closed_by,
    coalesce(closing.is_committed, false) as is_committed,
    if(closing.at_micros is null, null,
      coalesce(closing.since_micros, written_micros, begun_micros)) as since_micros,
    required_before, timeline
  from required left join timelines using (topic, partition)
)
select * except (since_micros, required_before, timeline)
from {{ with_later_permit("placed", since="since_micros", offset="required_before") }}
