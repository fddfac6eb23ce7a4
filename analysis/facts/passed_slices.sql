/*
about: Records, in slices, that a member's position went past within a session undelivered.
subject: sessions
columns:
  kind: '`within a poll` or `between polls`'
  prev_epoch: of the record before
  next_epoch: of the one after
  offset: the first one
  last_offset: inclusive
  records: how many records
*/
with gaps as (
  select *, greatest(prev_offset + 1, reset_to) as gap_first, first_offset - 1 as gap_last
  from session_jumps
  where not is_anew and greatest(prev_offset + 1, reset_to) < first_offset
)
select topic, partition, group, member,
  if(seq = prev_seq, 'within a poll', 'between polls') as kind, prev_epoch,
  first_epoch as next_epoch, at_micros, slice_first as offset, slice_last as last_offset, records
from {{ sliced("gaps", "gap_first", "gap_last") }}
