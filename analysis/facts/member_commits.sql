/*
about: |
  Stored commits of groups whose commits are in the history.

  Without those of transactions and of administrators.
subject: commits
kept: false
columns:
  offsets_partition: of `__consumer_offsets`
  offsets_offset: in that partition
*/
select {{ commit_key }}, offset, committed_epoch, committed_micros
from all_offsets left semi join commits using (group)
where not is_tombstone and coalesce(actor not in ('transaction', 'administrator'), true)
