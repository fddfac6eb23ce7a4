/*
about: |
  Members of read_committed groups that stood at the last stable offset (`standstills`).

  The first transaction that was open then began at their position, or below; or above if only
  control records and aborted batches lie between, which a client need not count into its position.
subject: transactions
columns:
  at_micros: as asked_micros there
  open_at: where that transaction began
  closed_by: in words, what shows that it had ended before, though the log has no marker; null
    where nothing shows it
  permit: by what its marker may have been lost before
optional: [replica_batches, unended_writes]
*/
with stalls as (
  select distinct group, topic, partition, position, asked_micros as at_micros
  from standstills left semi join committed_readers using (group, topic)
  where position is not null
),
batches as (
  select distinct topic, partition, producer_id, base_offset, last_offset, max_timestamp_micros,
    coalesce(is_control, false) as is_control, control_type,
    coalesce(is_transactional, false) as is_transactional
  from replica_batches
  left semi join survivors using (topic, partition, broker)
  left semi join stalls using (topic, partition)
),
-- A transaction ends with the next control record of its producer id.
numbered as (
  select *, coalesce(sum(if(is_control, 1, 0)) over (
      partition by topic, partition, producer_id order by base_offset
      rows between unbounded preceding and 1 preceding), 0) as number
  from batches
),
spans as (
  select topic, partition, producer_id, number,
    min(base_offset) filter (where not is_control) as first_offset,
    min(max_timestamp_micros) filter (where is_control) as ended_micros,
    min(control_type) filter (where is_control) as ended_by
  from numbered
  where is_transactional
  group by all
),
delivered as (
  select n.topic, n.partition, n.base_offset, n.last_offset
  from numbered as n left join spans using (topic, partition, producer_id, number)
  where not is_control and not (is_transactional and ended_by <=> 'abort')
),
next_delivered as (
  select group, topic, partition, position, at_micros, min(base_offset) as next_offset
  from stalls join delivered using (topic, partition)
  where last_offset >= position
  group by all
),
open as (
  select group, topic, partition, position, at_micros, min(first_offset) as open_at
  from stalls
  join spans using (topic, partition)
  left join next_delivered using (group, topic, partition, position, at_micros)
  where coalesce(ended_micros > at_micros - :clock_micros, true)
    and first_offset <= greatest(position, next_offset)
  group by all
),
closed as (
  select topic, partition, offset_first as open_at, closed_micros, closed_by, permit
  from unended_writes
)
select group, topic, partition, position, at_micros, open_at,
  if(closed_micros + :clock_micros < at_micros, closed_by, null) as closed_by,
  if(permit.at_micros <= at_micros, permit, null) as permit
from open left join closed using (topic, partition, open_at)
