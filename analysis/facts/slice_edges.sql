/*
about: Where slices begin.
subject: slices
columns:
  place: in the partition
regardless: [sends, polls, replica_records, cut_records, log_starts, log_start_changes, samples,
  epoch_checkpoints, leader_epoch_starts, truncations, commits, committed_offsets, group_events,
  replica_batches, resets, faults]
*/
-- Those of a single record come in pairs.
with named as (
  select topic, partition, array(first_offset, last_offset + 1) as offsets from sends
  union all
  select topic, partition, array(first_offset, last_offset + 1) from polls
  union all
  select topic, partition, array(first_offset, last_offset + 1) from replica_records
  union all
  select topic, partition, array(first_offset, last_offset + 1) from cut_records
  union all
  select topic, partition, array(log_start_offset, log_end_offset, high_watermark_checkpoint)
  from log_starts
  union all
  select topic, partition, array(log_start_offset) from log_start_changes
  union all
  select topic, partition, array(log_start_offset, log_end_offset) from samples
  union all
  select topic, partition, array(start_offset) from epoch_checkpoints
  union all
  select topic, partition, array(start_offset) from leader_epoch_starts
  union all
  select topic, partition, array(to_offset) from truncations
  union all
  select topic, partition, array(offset - 1, offset) from commits
  union all
  select topic, partition, array(offset - 1, offset) from committed_offsets
  union all
  select topic, partition,
    array(position - 1, position, divergent_offset - 1, divergent_offset) from group_events
  union all
  select topic, partition, array(base_offset, last_offset + 1) from replica_batches
  where is_transactional
  union all
  select topic, partition, array(from_offset - 1, from_offset, to_offset - 1, to_offset) from resets
  union all
  select topic, partition, array({{ ordered_to() }}) from faults where partition is not null
),
repeated as (
  select topic, partition, shift, explode(sequence(greatest(first_sequence, from_sequence),
    least(last_sequence, to_sequence))) as sequence
  from sequence_lines join repeated_sequences using (producer)
  where shift is not null and from_sequence <= last_sequence and to_sequence >= first_sequence
),
edges as (
  select topic, partition, explode(offsets) as at from named
  union
  select topic, partition, explode(array(sequence + shift, sequence + shift + 1)) from repeated
)
select topic, partition, at, row_number() over in_order as place, lead(at) over in_order as next_at
from edges
where at is not null
window in_order as (partition by topic, partition order by at)
