/*
id: F3
definition: A client reported a truncation of a position that was on its branch at that time.
explanation: The position is compared by the epoch under which the group was delivered the
  previous record; its own epoch may be stale. If an administrator set the position, it is compared
  by the epoch that was set.
evaluates: every member that was opened.
source: KIP-320; KAFKA-19902; `LeaderEpochFileCache.endOffsetFor`.
needs: [group_events, epoch_checkpoints, log_starts]
evaluated: select count(*) as evaluated from group_events where change = 'opened'
tree: true
cases:
- permitted: former topic
  cause: epoch {from_epoch} is that of a record of the topic that was deleted since; no record of
    the present topic had it then
- undecided: unread
  cause: no record that the group read shows whether the position was truncated
- undecided: removed epoch
  when: is_unsure
  cause: the start of the log or of a newer epoch at that time is not known
- undecided: stale epoch
  when: is_unsure
  cause: the start of the log or of a newer epoch at that time is not known
- undecided: position intact
  when: is_unsure
  cause: the start of the log or of a newer epoch at that time is not known
- permitted: removed epoch
  cause: retention had removed epoch {from_epoch}; the leader answered with the log start
    {to_offset}, where the oldest larger epoch starts
- violation: stale epoch
  cause: the record before the position is intact and has epoch {read_epoch}; the position had
    epoch {from_epoch}
- violation: position intact
  cause: the record before the position is intact and has epoch {read_epoch}; the position had
    epoch {from_epoch}
evidence: member, policy, from_epoch, to_offset, read_epoch, start_high
place:
  offset_first: coalesce(to_offset, from_offset)
  offset_last: from_offset
  at: at_micros
*/
{% set position = "group, topic, partition, from_offset, at_micros" %}
with reports as (
  select *
  from {{ with_log_starts("truncation_reports") }}
  join log_bounds using (topic, partition)
  where from_offset between start_low and log_end
),
given as (
  select r.*, p.leader_epoch, p.polled_micros
  from reports as r
  join sliced_polls as p
    on (p.group, p.topic, p.partition, p.offset)
      = (r.group, r.topic, r.partition, r.from_offset - 1)
  where leader_epoch >= 0 and polled_micros <= at_micros
),
read as (
  select {{ position }},
    max_by(leader_epoch, polled_micros) filter (where not is_of_former) as read_epoch,
    max_by(leader_epoch, polled_micros) as last_epoch
  from {{ with_former_topic("given", "polled_micros") }}
  group by all
),
set_by_administrators as (
  select distinct group, topic, partition, offset as from_offset, committed_epoch as from_epoch,
    committed_epoch as set_epoch
  from administered
),
known as (
  select *, coalesce(set_epoch, read_epoch, from_epoch) as known_epoch
  from reports
  left join read using ({{ position }})
  left join set_by_administrators using (group, topic, partition, from_offset, from_epoch)
  join timelines using (topic, partition)
)
select *,
  from_offset < start_high
    or {{ may_be_overwritten("known_epoch", "from_offset", "at_micros + :clock_micros") }}
    as is_unsure,
  case
    when read_epoch is null and last_epoch = from_epoch
      and not exists(timeline, one -> one.leader_epoch = from_epoch) then 'former topic'
    when read_epoch is null then 'unread'
    when from_epoch < read_epoch and forked_at <= to_offset
      and to_offset between start_low and start_high then 'removed epoch'
    when from_epoch < read_epoch then 'stale epoch'
    else 'position intact'
  end as kind
from known
where known_epoch < 0
  or not {{ is_overwritten("known_epoch", "from_offset", "at_micros + :clock_micros") }}
