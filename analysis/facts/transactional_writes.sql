/*
about: |
  What transactions sent, in slices, and how each ended: by the marker that ends it in the log, else
  by its client's answer.

  A marker is the first control record of the same producer id behind the batch, in any replica. A
  refused EndTxn proves nothing: an earlier attempt, whose answer was lost, may have succeeded.
  Where both kinds of markers end a transaction's writes in one partition, one of them came too
  early or too late (KAFKA-17754). The transaction's own marker is the one that agrees with the
  response to its client.
subject: transactions
columns:
  offset: where acknowledged, else where a replica holds it, else null
  outcome: of its send
  reported: as of `transaction_ends`; unknown where the client did not set out to end it
  marker: the control record that ends it in the log; null where none does
  marker_offset: of that control record
  ended_as: committed, aborted, failed, unknown
*/
with written as (
  select * from sliced_sends where transaction is not null
),
held as (
  select topic, partition, value, min(offset) as held_at
  from sliced_replica_records left semi join written using (topic, partition, value)
  group by all
),
sent as (
  select topic, partition, producer, transaction, value, coalesce(offset, held_at) as offset,
    coalesce(last_offset, held_at) as last_offset, records, outcome, answered_micros
  from written left join held using (topic, partition, value)
),
batches as (
  select distinct topic, partition, producer_id, base_offset, last_offset, is_control, control_type
  from replica_batches
  where is_transactional and producer_id >= 0
),
followed as (
  select topic, partition, base_offset as offset, last_offset, is_control,
    last_value(if(is_control, struct(control_type, base_offset), null)) ignore nulls over (
      partition by topic, partition, producer_id order by base_offset desc, control_type
      rows between unbounded preceding and 1 preceding) as control
  from batches
),
ended as (
  select topic, partition, offset, struct(last_offset, control) as batch, false as is_sent
  from followed
  where not is_control and control is not null
  union all
  select distinct topic, partition, offset, null, true from sent where offset is not null
),
-- A send has the marker that ends the batch around its offset.
marked as (
  select *, last_value(batch) ignore nulls over (
      partition by topic, partition order by offset, is_sent) as around
  from ended
),
markers as (
  select topic, partition, offset, around.control.control_type as marker,
    around.control.base_offset as marker_offset
  from marked
  where is_sent and offset <= around.last_offset
),
judged as (
  select sent.*, coalesce(reported, 'unknown') as reported, marker, marker_offset,
    coalesce(reported in ('committed', 'aborted'), false) as is_reported,
    marker is not null and min(marker) over of_partition != max(marker) over of_partition
      as is_mixed
  from sent
  left join transaction_ends using (producer, transaction)
  left join markers using (topic, partition, offset)
  window of_partition as (partition by topic, partition, producer, transaction)
)
select * except (is_reported, is_mixed),
  case
    when outcome = 'failed' then 'failed'
    when is_reported and is_mixed then reported
    when marker = 'abort' then 'aborted'
    when marker = 'commit' then 'committed'
    when is_reported then reported
    else 'unknown'
  end as ended_as,
  case
    when outcome = 'failed' then 'the send failed'
    when is_reported and is_mixed
      then concat('commit and abort markers have its producer id; its own is: ', reported)
    when marker = 'abort' then 'an abort marker ends it'
    when marker = 'commit' then 'a commit marker ends it'
    when is_reported then concat('its client reported it as ', reported)
    else 'neither a marker nor its client shows how it ended'
  end as reason
from judged
