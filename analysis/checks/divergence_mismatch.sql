/*
id: F12
definition: A LogTruncationException has an offset or an epoch at which the log did not diverge.
explanation: The divergent offset has to be where the epoch after the position's started in the
  leader's log, or the log start of that time if it is higher; for a position of the newest epoch,
  the end of the log. An epoch that the surviving log does not have may be that, or the one after
  it. The divergent epoch has to be the largest that is not above the requested one.
evaluates: every LogTruncationException with a divergent offset.
source: KIP-320; `LeaderEpochFileCache.endOffsetFor`.
needs: [group_events, epoch_checkpoints, log_starts]
evaluated: select count(*) as evaluated from judged
tree: true
cases:
- undecided: unknown fork
  when: not is_above and (is_unreported or known_epoch < 0)
  cause: the end of the position's epoch at that time is not known
- violation: newer epoch
  when: is_above
  cause: the exception has divergent epoch {divergent_epoch}; expected an epoch not above the
    requested one, {asked_epoch}
- violation: elsewhere
  cause: the exception has divergent offset {divergent_offset}, but epoch {known_epoch} ends at
    {forked_at} in the log
evidence: member, position, known_epoch, divergent_offset, divergent_epoch, asked_epoch,
  forked_at, start_high
place:
  offset_first: divergent_offset
  offset_last: position
  at: at_micros
*/
with raised as (
  select * from {{ of_present_topic("group_events", "at_micros") }}
  where divergent_offset is not null
),
known as (
  select * except (known_epoch), if(known_epoch >= 0, known_epoch, divergent_epoch) as known_epoch
  from {{ with_position_epochs("raised") }}
),
sampled as (
  select * from {{ with_log_ends("known") }}
),
-- No epoch lies between the answer's and the requested one: both end where the next began.
begun as (
  select *,
    filter(timeline, one -> one.leader_epoch > known_epoch
      and coalesce(one.from_micros <= at_micros + :clock_micros, true)) as may_be_newer,
    filter(timeline, one -> one.leader_epoch > known_epoch
      and coalesce(one.from_micros <= at_micros - :clock_micros, false)) as surely_newer
  from {{ with_log_starts("sampled") }} left join timelines using (topic, partition)
),
-- The first newer epoch that the surviving log has: each leader since has it too.
kept as (
  select *, array_min(filter(surely_newer, one -> one.is_kept and one.start_high is not null))
    .leader_epoch as kept_epoch
  from begun
),
bounded as (
  select *, filter(may_be_newer, one -> coalesce(one.leader_epoch <= kept_epoch, true)) as newer
  from kept
),
-- An epoch starts no later than those above it do: the one without a leader that precedes an
-- election has no start of its own.
judged as (
  select *,
    coalesce(asked_epoch >= 0 and divergent_epoch > asked_epoch, false) as is_above,
    coalesce(size(newer) = 0, true) and coalesce(end_before, end_after) is null as is_unreported,
    coalesce(array_min(transform(newer, one -> one.start_high)), end_before, end_after)
      as forked_at,
    exists(newer, one -> divergent_offset >= greatest(coalesce(one.start_low, 0), start_low)
      and divergent_offset <= coalesce(greatest(array_min(transform(
        filter(newer, other -> other.leader_epoch >= one.leader_epoch),
        other -> other.start_high)), start_high), divergent_offset)) as may_be_fork,
    size(surely_newer) = 0 and coalesce(end_before, end_after) is not null
      and divergent_offset >= coalesce(end_before, divergent_offset)
      and divergent_offset <= coalesce(end_after, divergent_offset) as may_be_end
  from bounded
)
select * from judged where is_above or not coalesce(may_be_fork or may_be_end, false)
