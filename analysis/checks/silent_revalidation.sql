/*
id: F10
definition: A position beyond a truncated log's end became valid again by new appends, unnoticed.
explanation: The group had read past where the older epoch ends, new appends overtook its
  position, and it read on there without a reset or an exception.
permitted: >-
  the group's clients show no epochs;
  the group commits no epoch, and a member of it was opened or assigned in between: it went on from
  a commit. A live member's position has the epoch of its last record.
undecided: a guest's policy is `latest`, so that a reset may have led it on unseen.
evaluates: each step of a group from one epoch to a newer one on a partition.
source: KIP-320, Motivation; KAFKA-20507.
needs: [polls, epoch_checkpoints, log_starts, leaderships]
evaluated: select count(*) as evaluated from passages
exercised: truncated_readers
tree: true
passed_epoch: epoch
cases:
- violation: silent
  cause: epoch {previous_epoch} ends at {forked_at} in the log; the position was {position} and
    became valid again through {appended} new records
  permitted_if: commit_epoch = 'none' and is_resumed or is_without_epochs
  undecided_if: hidden_reset = 'latest'
evidence: previous_epoch, forked_at, position, appended, epoch, went_on_at, commit_epoch
place:
  offset_first: forked_at
  offset_last: position - 1
  at: at_micros
*/
-- One poll may return records of several epochs, which rise with the offsets.
with in_turn as (
  select *, lag(epoch) over in_order as previous_epoch, lag(forked_at) over in_order as left_at,
    lag(last_offset) over in_order + 1 as position, lag(last_micros) over in_order as stood_micros
  from branch_reads
  window in_order as (partition by group, topic, partition order by first_micros, epoch)
),
passages as (
  select group, topic, partition, previous_epoch, left_at as forked_at, position, stood_micros,
    epoch, first_offset as went_on_at, first_micros as at_micros
  from in_turn
  where previous_epoch < epoch
),
beyond as (
  select * from passages where forked_at < position and went_on_at >= position
),
begun as (
  select group, at_micros as begun_micros
  from group_events
  where change in ('assigned', 'opened')
),
resumed as (
  select beyond.*, coalesce(max(
      begun_micros between stood_micros - :skew_micros and at_micros + :skew_micros), false)
    as is_resumed
  from beyond left join begun using (group)
  group by all
)
select *, position - forked_at as appended
from {{ unnoticed("resumed", "stood_micros", "at_micros") }}
left join planned_groups using (group)
left join groups_without_epochs using (group)
