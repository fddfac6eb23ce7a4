/*
about: Records, in slices, that a member's position went past within a session undelivered.
subject: sessions
columns:
  is_within: whether one poll returned what was before and after
  prev_epoch: of the record before
  next_epoch: of the one after
  offset: the first one
  last_offset: inclusive
  records: how many records
  is_commit: as of `session_jumps`
*/
with gaps as (
  select *, greatest(prev_offset + 1, reset_to) as gap_first, first_offset - 1 as gap_last
  from session_jumps
  where not is_anew and greatest(prev_offset + 1, reset_to) < first_offset
)
select topic, partition, group, member, seq = prev_seq as is_within, prev_epoch,
  first_epoch as next_epoch, at_micros, slice_first as offset, slice_last as last_offset, records,
  is_commit
from {{ sliced("gaps", "gap_first", "gap_last") }}
