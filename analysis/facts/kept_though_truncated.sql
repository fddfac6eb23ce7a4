/*
about: Records that a replica truncated and has at the end.
subject: replicas
columns:
  at_micros: when the record was first observed to be truncated
*/
with truncated as (
  select broker, topic, partition, leader_epoch, offset, value, min(taken_micros) as at_micros
  from sliced_cut_records
  group by all
),
kept as (
  select *, explode(sequence(offset, last_offset)) as at
  from sliced_replica_records
  join truncated using (broker, topic, partition, leader_epoch, offset, value)
)
select broker, topic, partition, leader_epoch, at as offset,
  if(at = offset, value, concat(producer, ':', cast(sequence + at - offset as string))) as value,
  at_micros
from kept
