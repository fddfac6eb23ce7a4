/*
about: |
  Members that stood (`standstills`) below a record of the log that they were to be delivered.

  To be delivered is what lay below the high watermark that the leader reported last, or was
  delivered to another group or acknowledged with acks=all by then; for a read_committed group
  nothing of an aborted transaction.
subject: sessions
columns:
  at_micros: as asked_micros there
  is_required: false if nothing shows whether the record was below the high watermark
*/
with positions as (
  select distinct group, topic, partition, position, asked_micros as at_micros
  from standstills
  where position is not null
),
high_watermarks as (
  select p.*, max_by(log_end_offset, struct(leader_epoch, s.at_micros)) as high_watermark
  from positions as p join samples as s using (topic, partition)
  where broker = leader and s.at_micros <= p.at_micros
  group by all
),
records as (
  select topic, partition, offset, value, true as is_kept from surviving_records
  union all
  select topic, partition, offset, value, false from sliced_acknowledged
),
above as (
  select group, topic, partition, position, at_micros, offset, value, is_kept
  from positions join records using (topic, partition)
  left anti join not_committed_writes using (group, topic, partition, value)
  where offset >= position
),
seen as (
  select topic, partition, offset, value, min(polled_micros) as polled_micros
  from sliced_polls left semi join above using (topic, partition, offset, value)
  group by all
),
compared as (
  select group, topic, partition, position, at_micros,
    coalesce(offset < high_watermark or is_kept and (polled_micros <= at_micros
      or acks = 'all' and answered_micros <= at_micros), false) as is_required,
    is_kept and high_watermark is null and coalesce(intended_micros <= at_micros, true)
      as is_possible
  from above
  left join sliced_acknowledged using (topic, partition, offset, value)
  left join seen using (topic, partition, offset, value)
  left join high_watermarks using (group, topic, partition, position, at_micros)
)
select group, topic, partition, position, at_micros, max(is_required) as is_required
from compared
where is_required or is_possible
group by all
