/*
id: E6
definition: The committed epoch is above the epoch of the previous record.
explanation: So a truncation below it can't be noticed.
permitted: the group does not commit the epochs of its records.
undecided: as clocks were apart, the record may have been delivered before the commit or after.
evaluates: every commit whose previous record has a known epoch.
source: '`OffsetAndMetadata.leaderEpoch`: the epoch of the record consumed before.'
needs: [committed_offsets, polls, leaderships]
evaluated: select count(*) as evaluated from known
exercised: commits_across_epochs
tree: true
cases:
- violation: ahead
  cause: the committed epoch is newer than that of the record before; a client may not detect a
    truncation below it
  permitted_if: coalesce(commit_epoch, 'record') not in ('record', 'application')
  undecided_if: is_unclear
evidence: committed_epoch, record_epoch, led_epoch, commit_epoch
place:
  offset_first: offset
  offset_last: offset
  at: committed_micros
*/
with known as (
  select * from stored_commits where record_epoch is not null
)
select * from known where committed_epoch > record_epoch
