/*
id: A1s
definition: A group's position went past a record of the surviving log that it was never delivered.
explanation: >-
  Counted from where the group began, not from its first delivery. What a transaction wrote is left
  out for groups that read committed values: `torn_transaction` evaluates that.
undecided: the history of a member lacks events; the group went on at a commit that no client of
  the run reports; a guest's policy is `latest`, so that a reset may
  have led past it unseen, as the group had committed nothing below it, or the log may have lacked what
  it had; a client that chooses what it commits, and is not
  Java's, had committed the record when its worker was killed, perhaps in a poll that returned it; a
  group that commits the epochs of its records
  noticed a truncation, but was led elsewhere above the divergence.
evaluates: every delivery.
source: >-
  KIP-320: after several unclean elections in a row the exact offset of a truncation may not be
  found.
needs: [polls, group_events, log_starts]
evaluated: select coalesce(sum(records), 0) as evaluated from deliveries
tree: true
passed_epoch: leader_epoch
cases:
- permitted: skipped by a reset
  when: jumped_to is not null
  cause: auto.offset.reset={policy} skipped the records
- violation: skipped behind its commit
  when: withheld_at is not null
  cause: the client stood at {withheld_at} and left its commits out, so that the group resumed at
    what it had committed before
- permitted: skipped by an administrator
  when: set_to is not null
  cause: an administrator set the group's offset to {set_to}, past the records
- undecided: skipped to an unreported commit
  when: set_unreported is not null
  cause: the group went on at {set_unreported}, past the records; no client of the run reports this
    commit
- undecided: skipped in an interrupted poll
  when: interrupted is not null and not is_replaced
  cause: 'the client of {interrupted} had committed the record when its worker was killed, perhaps in a
    poll that returned it'
- permitted: divergent offset too high
  when: is_replaced and is_unvalidated and commit_epoch = 'none' and truncated_to is not null
  cause: the offset was committed without a leader epoch, so it could not be validated
- permitted: skipped without an error
  when: is_replaced and is_unvalidated and commit_epoch = 'none'
  cause: the offset was committed without a leader epoch, so it could not be validated
- permitted: skipped without an error
  when: is_replaced and is_unseen and permit is not null
  cause: the group had read other records there, of epoch {read_epoch}; {permit.words}
- permitted: divergent offset too high
  when: truncated_to is not null and unclean_epochs is not null
    and coalesce(commit_epoch, 'record') in ('record', 'application')
  cause: the leader answered {truncated_to}, the end of its largest epoch not above the requested
    one; after the unclean elections of epochs {unclean_epochs} the exact divergence is not known
- violation: divergent offset too high
  when: truncated_to > exact
  cause: the client truncated its position of epoch {requested_epoch} to {truncated_to}; in the log this
    epoch ends at {exact}
  undecided_if: is_gapped
- violation: divergent offset too high
  when: truncated_to is not null
  cause: the client truncated its position to {truncated_to}, which is above the divergence
  undecided_if: is_gapped or coalesce(commit_epoch, 'record') in ('record', 'application')
- violation: skipped without an error
  when: is_replaced
  cause: the client accepted committed offset {committed_offset} with epoch {committed_epoch},
    but at these offsets the log has other records, of epoch {leader_epoch}, than the group had
    read
  undecided_if: is_gapped or is_unseen and is_unreported or may_be_reset
- undecided: skipped perhaps by a reset
  when: may_be_reset
  cause: auto.offset.reset=latest may have skipped the records; {why_reset}
- violation: skipped without an error
  cause: neither a truncation nor a reset explains the skip
  undecided_if: is_gapped
evidence: records, leader_epoch, committed_offset, committed_epoch, commit_epoch, jumped_to,
  set_to, set_unreported, withheld_at, truncated_to, requested_epoch, exact, unclean_epochs,
  is_replaced, permit, interrupted
*/
with began as (
  select group, topic, partition, max(committed_offset) as unvalidated_below
  from commits_at_start
  where committed_epoch < 0
  group by all
),
interrupted as (
  select group, topic, partition, n.offset, leader_epoch, max(member) as interrupted
  from never_delivered as n
  join interrupted_commits as c using (group, topic, partition)
  where n.offset >= read_to and n.offset < c.offset
  group by all
),
least_commits as (
  select group, topic, partition, min(offset) as least_commit, max(is_tombstone) as was_deleted
  from present_offsets
  where is_tombstone or {{ is_stored }}
  group by all
),
skipped as (
  select *, coalesce(offset < unvalidated_below, false) as is_unvalidated,
    coalesce(hidden_reset = 'latest', false)
      and (is_shortened is not null or was_deleted or coalesce(least_commit > offset, true))
      as may_be_reset,
    if(is_shortened is null, 'the group had committed nothing below them',
      'the log may have lacked what it had') as why_reset
  from explained_skips
  left join interrupted using (group, topic, partition, offset, leader_epoch)
  left join began using (group, topic, partition)
  left join timelines using (topic, partition)
  left join (select group, hidden_reset from planned_groups) using (group)
  left join least_commits using (group, topic, partition)
  left join shortened_logs using (topic, partition)
),
judged as (
  select *
  from {{ with_permit("skipped", "read_epoch", "array_max(timeline).leader_epoch", "offset") }}
)
select *
from {{ spans("judged", "group, topic, partition, is_unvalidated, commit_epoch, committed_offset,
  committed_epoch, jumped_to, policy, set_to, set_unreported, withheld_at, truncated_to,
  requested_epoch, exact, unclean_epochs, is_replaced, read_epoch, is_unseen, permit,
  is_unreported, is_gapped, interrupted, may_be_reset, why_reset, leader_epoch") }}
