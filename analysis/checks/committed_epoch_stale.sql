/*
id: E3
definition: The committed epoch is below the epoch of the previous record, which may be a control
  record.
explanation: The previous record is the one that the group was delivered last, unless an election
  has brought an older one back by then, whose epoch the commit has.
permitted: the group does not commit the epochs of its records; or the log has another record
  there since, by an election that permits the loss.
undecided: as clocks were apart, the record may have been delivered before the commit or after, or
  have been brought back.
evaluates: every commit whose previous record has a known epoch.
source: '`OffsetAndMetadata.leaderEpoch`: the epoch of the record consumed before; KAFKA-19902.'
needs: [committed_offsets, polls, leaderships]
evaluated: select count(*) as evaluated from stored_commits where record_epoch is not null
exercised: commits_across_epochs
tree: true
cases:
- violation: stale
  when: record_epoch is not null
  cause: the committed epoch is older than that of the record before; a client may report a
    truncation that did not happen
  permitted_if: coalesce(commit_epoch, 'record') not in ('record', 'application')
  undecided_if: is_unclear or is_back
- permitted: stale
  when: permit is not null
  cause: the log has another record before the offset since, of epoch {replaced_by}, which is
    newer than the committed one; {permit.words}
evidence: committed_epoch, record_epoch, led_epoch, commit_epoch, permit
place:
  offset_first: offset
  offset_last: offset
  at: committed_micros
*/
-- An older branch is back that has the committed epoch there: surely if clients had heard of it.
with below as (
  select *, coalesce(coalesce(logged_epoch, replaced_by) <= committed_epoch
    and {{ led_then("committed_micros + :clock_micros") }} > record_epoch, false) as is_back
  from stored_commits left join timelines using (topic, partition)
  where committed_epoch >= 0 and committed_epoch < coalesce(record_epoch, replaced_by)
),
older as (
  select * from below where not (is_back and logged_epoch is not null)
)
select * from {{ with_permit_since("older", "offset - 1") }}
