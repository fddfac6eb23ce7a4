/*
about: |
  Surviving batches that follow others of their producer id and epoch, and the gap in sequence
  numbers between the two.

  Where a replica lacks offsets in between, they may have had these numbers, and the batch is left
  out.
subject: replicas
columns:
  ahead: how many sequence numbers are left out between the batch before and this one; below 0
    where they are not above it
*/
with placed as (
  select *, lag(last_offset) over of_log + 1 as expected_offset
  from replica_batches left semi join survivors using (topic, partition, broker)
  window of_log as (partition by topic, partition, broker order by base_offset)
),
whole as (
  select *, sum(if(base_offset != expected_offset, 1, 0)) over (
      partition by topic, partition, broker order by base_offset) as holes
  from placed
),
followed as (
  select *, lag(struct(base_offset, last_offset, base_sequence, holes)) over (
      partition by topic, partition, broker, producer_id, producer_epoch order by base_offset)
    as before
  from whole
  where producer_id >= 0 and not is_control and base_sequence >= 0
)
-- After the largest sequence number, 2^31 - 1, follows 0.
select distinct topic, partition, producer_id, producer_epoch, base_offset, last_offset,
  base_sequence,
  base_sequence - (before.base_sequence + before.last_offset - before.base_offset + 1)
    % 2147483648L as ahead
from followed
where before.holes = holes
