/*
id: E5
definition: The committed epoch is below the oldest epoch that the leader's epoch cache had at
  that time.
explanation: >-
  The cache drops an epoch once a newer one starts at or below the log start. Reports a lower bound
  of the headroom: the time from the commit until the log start passed its offset.
evaluates: the commits of `commit_expired` that have an epoch.
source: >-
  `LeaderEpochFileCache.truncateFromStartAsyncFlush`, and `endOffsetFor`, which can't answer for
  such an epoch (KAFKA-19902).
needs: [committed_offsets, log_starts, leaderships, epoch_checkpoints]
evaluated: select count(*) as evaluated from known
exercised: expired_logs
tree: true
cases:
- permitted: '{stood}'
  when: is_planned and passed_by != ''
  cause: epoch {committed_epoch} was committed; the oldest epoch left in the log was
    {oldest_epoch}; removed {passed_by}
- undecided: '{stood}'
  when: is_planned
  cause: epoch {committed_epoch} was committed; the oldest epoch left in the log was {oldest_epoch}
- violation: '{stood}'
  when: passed_by != ''
  cause: epoch {committed_epoch} was committed; the oldest epoch left in the log was
    {oldest_epoch}; removed {passed_by}
- violation: '{stood}'
  cause: epoch {committed_epoch} was committed; the oldest epoch left in the log was {oldest_epoch}
evidence: committed_epoch, oldest_epoch, start_low, headroom_seconds, passed_by, stood
place:
  offset_first: offset
  offset_last: offset
  at: coalesce(expired_micros, committed_micros)
*/
with known as (
  select c.*, array_max(filter(timeline, one -> one.is_kept and one.start_high <= start_low
      and coalesce(one.from_micros <= stood_micros, true))).leader_epoch as oldest_epoch
  from standing_commits as c join timelines using (topic, partition)
  where committed_epoch >= 0
),
expired as (
  select * from known where start_low > 0 and committed_epoch < oldest_epoch
)
select * from {{ with_passing("expired", "start_low - 1") }}
