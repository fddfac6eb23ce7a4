/*
id: E9
definition: The committed position lies on an abandoned branch of the log.
explanation: >-
  A later epoch starts below the offset on the surviving branch. Epochs below that of the previous
  record only look so, and are left out: `committed_epoch_stale` finds them. A delivered record lay
  below the high watermark, so only an election that permits the loss may abandon it. Commits of
  records that another topic of this name had are left out: they were on no branch of this one;
  `commit_beyond_log` and `commit_beyond_processed` find them.
undecided: the metadata log does not have all elections since.
evaluates: every commit that has an epoch.
source: KIP-101; KIP-320; KIP-966.
needs: [committed_offsets, leaderships, epoch_checkpoints]
evaluated: select count(*) as evaluated from of_branches
exercised: commits_across_epochs
tree: true
later_epoch: later_epoch
cases:
- permitted: committed late
  when: permit is not null
  cause: >-
    epoch {committed_epoch} ends at {forked_at} in the surviving log: {records} records before the
    committed offset are not the ones that were read; {permit.words}
- violation: committed late
  cause: >-
    epoch {committed_epoch} ends at {forked_at} in the surviving log: {records} records before the
    committed offset are not the ones that were read
  undecided_if: is_unreported
- permitted: truncated later
  when: permit is not null
  cause: >-
    epoch {committed_epoch} ends at {forked_at} in the surviving log: {records} records before the
    committed offset are not the ones that were read; {permit.words}
- violation: truncated later
  cause: >-
    epoch {committed_epoch} ends at {forked_at} in the surviving log: {records} records before the
    committed offset are not the ones that were read
  undecided_if: is_unreported
evidence: committed_epoch, forked_at, later_epoch, records, record_epoch, led_epoch,
  commit_epoch, permit
place:
  offset_first: offset
  offset_last: offset
  at: committed_micros
*/
with of_branches as (
  select *, {{ took_over("committed_epoch", "offset - 1") }} as fork
  from stored_commits join timelines using (topic, partition)
  where committed_epoch >= 0
),
orphans as (
  select *, fork.leader_epoch as later_epoch,
    exists(timeline, one -> one.leader_epoch <= led_epoch
      and array_contains(one.lacked, fork.leader_epoch)) as is_back,
    if(array_contains(fork.lacked, committed_epoch),
      {{ fork_then("committed_epoch", forever) }}, fork.start_high) as forked_at
  from of_branches
  where fork is not null and not is_of_former and coalesce(record_epoch, -1) <= committed_epoch
)
select *, offset - forked_at as records,
  if(led_epoch > committed_epoch, 'committed late', 'truncated later') as kind
from {{ with_permit("orphans", "if(is_back, led_epoch, committed_epoch)",
  "if(is_back, array_max(timeline).leader_epoch, later_epoch)",
  "if(is_back, " ~ forever ~ ", forked_at)") }}
