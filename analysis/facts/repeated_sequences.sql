/*
about: |
  Values that lie at several offsets.

  A value without an offset counts as one at another offset.
subject: slices
*/
with in_turn as (
  select producer, first_sequence, last_sequence, max(last_sequence) over (
      partition by producer order by first_sequence, last_sequence
      rows between unbounded preceding and 1 preceding) as until
  from sequence_lines
)
select distinct producer, first_sequence as from_sequence,
  least(last_sequence, until) as to_sequence
from in_turn
where first_sequence <= until
