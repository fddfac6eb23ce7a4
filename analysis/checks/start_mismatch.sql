/*
id: D7
definition: A member's first position on a partition is not the offset that its group had
  committed, or its application had set.
explanation: The first position is that of the first delivery, or the member's own if there was
  none. A start behind the commit is a mismatch. A start ahead of it is one only if the group
  thereby never got records, or if an aborted transaction had stored that offset and the group
  thereby went past records that it would have got again. A commit that was lost since may have
  been in force then, so that a start there is right, too; so may one that was stored or replaced
  within the clock bound, or, of a guest, while the member was open and had not shown the partition. After the application has set a position (`seek`, or `assign` with an
  offset), the next delivery begins there; ahead of it only if no record that the member was to be
  delivered lies between. Resets count that the client logged.
  One for want of a commit is wrong if the member was opened after that commit had been acknowledged.
  What a coordinator returned is not the client's doing, and judged by `stale_fetched_commit`.
permitted: a coordinator had returned where the member began to somebody who asked, though a newer
  commit stood; or a reset of its client moved the position.
undecided: a coordinator may have returned it, which was elected shortly before, or returned the
  newer commit, too; a guest may have been reset unseen, ahead only by `latest`, and only where the
  log may have lacked the committed offset.
evaluates: every assignment with a commit before it, and every position that an application set and
  the member was delivered something from.
source: '`ConsumerCoordinator.initWithCommittedOffsetsIfNeeded`: positions are those of the response;
  KAFKA-16973; `KafkaConsumer.seek`; librdkafka `rd_kafka_assign`; Kafka''s documentation,
  `auto.offset.reset`: without an initial offset.'
needs: [group_events, committed_offsets, polls]
optional: [commits, starts_as_returned]
evaluated: >-
  select (select count(*) from commits_at_start) + (select count(*) from sought_positions)
    as evaluated
exercised: resumed_positions
tree: true
cases:
- permitted: '{reset_cause}'
  when: sought_offset is not null and reset_cause is not null
  cause: the member began at {start}, but its application had set {sought_offset}; a reset moved the
    position
- violation: behind what was set
  when: sought_offset > start
  cause: the member began at {start}, but its application had set {sought_offset}{of_commit}
- violation: ahead of what was set
  when: sought_offset < start
  cause: the member began at {start}, but its application had set {sought_offset}; {records} records
    lie between{of_commit}
- permitted: returned by the coordinator
  when: is_returned
  cause: the member began at {start}, but the group had committed {committed_offset}; {returned}
- undecided: perhaps returned by the coordinator
  when: returned is not null and coalesce(reset_cause = 'no_commit' and is_acknowledged, true)
  cause: the member began at {start}, but the group had committed {committed_offset}; {returned}
- violation: for want of a commit
  when: reset_cause = 'no_commit' and is_acknowledged
  cause: the member found no commit and began at {start}, but {committed_offset} had been
    acknowledged before it was opened
- permitted: '{reset_cause}'
  when: reset_cause is not null
  cause: the member began at {start}, but the group had committed {committed_offset}; a reset
    moved the position
- violation: ahead
  when: start > committed_offset and is_aborted
  cause: the member began at {start}, but the group had committed {committed_offset}; an aborted
    transaction had committed that position
  undecided_if: hidden_reset = 'latest' and coalesce(is_shortened, false)
- violation: behind
  when: is_aborted
  cause: the member began at {start}, but the group had committed {committed_offset}; an aborted
    transaction had committed that position
  undecided_if: hidden_reset is not null and coalesce(is_shortened, false)
- violation: ahead
  when: start > committed_offset
  cause: the member began at {start}, but the group had committed {committed_offset}
  undecided_if: hidden_reset = 'latest' and coalesce(is_shortened, false)
- violation: behind
  cause: the member began at {start}, but the group had committed {committed_offset}
  undecided_if: hidden_reset is not null and coalesce(is_shortened, false)
evidence: member, start, committed_offset, committed_epoch, sought_offset, reset_cause, records
place:
  offset_first: least(start, coalesce(sought_offset, committed_offset))
  offset_last: greatest(start, coalesce(sought_offset, committed_offset))
  at: coalesce(first_micros, from_micros)
*/
with starts as (
  select *, coalesce(first_offset, position) as start from commits_at_start
),
in_turn as (
  select group, topic, partition, offset, committed_micros, lead(committed_micros) over (
      partition by group, topic, partition order by {{ in_log }}) as next_micros
  from present_offsets
  where {{ is_stored }}
),
-- A guest shows a partition when a poll has ended, and has asked for its commit before.
openings as (
  select group, member, at_micros as opened_micros from group_events where change = 'opened'
),
asked as (
  select starts.*, if(client = 'guest', coalesce(before_micros, opened_micros, from_micros),
      from_micros) as asked_micros
  from starts
  left join openings using (group, member)
  left join (select group, client from planned_groups) using (group)
),
-- Starts at a commit that may have stood then, as clocks are apart, or perhaps before any.
in_doubt as (
  select distinct s.group, s.topic, s.partition, s.member, s.from_seq
  from asked as s join in_turn as o
    on (o.group, o.topic, o.partition, o.offset) = (s.group, s.topic, s.partition, s.start)
  where o.committed_micros <= from_micros + :clock_micros
    and coalesce(next_micros >= asked_micros - :clock_micros, true)
  union
  select group, topic, partition, member, from_seq
  from asked join in_turn as o using (group, topic, partition)
  group by group, topic, partition, member, from_seq, from_micros, asked_micros
  having min(o.committed_micros) >= asked_micros - :clock_micros and asked_micros < from_micros
),
apart as (
  select *
  from starts left anti join in_doubt using (group, topic, partition, member, from_seq)
  where start != committed_offset and coalesce(start != gone_offset, true)
),
resets_before as (
  select group, topic, partition, member, from_seq, max_by(cause, at_micros) as reset_cause
  from apart join client_resets using (group, topic, partition, member)
  where at_micros > coalesce(before_micros, 0)
    and at_micros <= coalesce(first_micros, from_micros) + {{ commit_clock_micros }}
  group by all
),
never as (
  select distinct group, topic, partition, offset, records from never_delivered
),
gaps as (
  select group, topic, partition, member, from_seq, sum(records) as records
  from apart join never using (group, topic, partition)
  where offset >= committed_offset and offset < start
  group by all
),
-- Where an aborted transaction had stored the start, and the group had a record before it.
aborted as (
  select distinct a.group, a.topic, a.partition, a.member, a.from_seq, true as is_aborted
  from apart as a
  join all_offsets as o
    on (o.group, o.topic, o.partition, o.offset) = (a.group, a.topic, a.partition, a.start)
  join deliveries as d on (d.group, d.topic, d.partition) = (a.group, a.topic, a.partition)
  where marker = 'abort' and o.committed_micros <= from_micros
    and last_offset >= committed_offset and d.first_offset < start and at_micros <= from_micros
),
-- By a report of the commit, before the member was opened.
acknowledged as (
  select distinct group, topic, partition, member, from_seq, true as is_acknowledged
  from apart
  join openings using (group, member)
  join (
    select group, topic, partition, offset as committed_offset, committed_micros as acked_micros
    from commits
    where outcome = 'ok') using (group, topic, partition, committed_offset)
  where acked_micros + :clock_micros < opened_micros
),
starts_apart as (
  select group, topic, partition, member, start, committed_offset, committed_epoch,
    cast(null as bigint) as sought_offset, reset_cause, coalesce(records, 0) as records,
    coalesce(is_aborted, false) as is_aborted, returned, is_returned, first_micros, from_micros,
    false as is_at_commit, coalesce(is_acknowledged, false) as is_acknowledged
  from apart
  left join (
    select group, topic, partition, member, from_seq, returned, is_returned
    from starts_as_returned) using (group, topic, partition, member, from_seq)
  left join resets_before using (group, topic, partition, member, from_seq)
  left join gaps using (group, topic, partition, member, from_seq)
  left join aborted using (group, topic, partition, member, from_seq)
  left join acknowledged using (group, topic, partition, member, from_seq)
  where start < committed_offset or reset_cause is not null or records is not null or is_aborted
),
sought as (
  select * from sought_positions where first_offset != position
),
resets_since as (
  select group, topic, partition, member, sought_micros, max_by(cause, at_micros) as reset_cause
  from sought join client_resets using (group, topic, partition, member)
  where cause != 'seek' and at_micros >= sought_micros - {{ commit_clock_micros }}
    and at_micros <= first_micros + {{ commit_clock_micros }}
  group by all
),
-- Records between, of the log that the delivery came from, that the member was to be delivered.
between_them as (
  select group, topic, partition, member, sought_micros,
    sum(least(last_offset, first_offset - 1) - greatest(offset, position) + 1) as records
  from sought join surviving_records using (topic, partition)
  left anti join not_committed_writes using (group, topic, partition, value)
  where last_offset >= position and offset < first_offset and leader_epoch <= first_epoch
  group by all
),
last_commits as (
  select group, topic, partition, member, sought_micros,
    max_by(offset, committed_micros) as committed_offset,
    max_by(committed_epoch, committed_micros) as committed_epoch
  from sought join present_offsets using (group, topic, partition)
  where committed_micros <= first_micros and not is_tombstone
  group by all
),
sought_apart as (
  select group, topic, partition, member, first_offset as start, committed_offset, committed_epoch,
    position as sought_offset, reset_cause, coalesce(records, 0) as records, false as is_aborted,
    cast(null as string) as returned, false as is_returned, first_micros,
    sought_micros as from_micros,
    coalesce(committed_offset = first_offset, false) as is_at_commit, false as is_acknowledged
  from sought
  left join resets_since using (group, topic, partition, member, sought_micros)
  left join between_them using (group, topic, partition, member, sought_micros)
  left join last_commits using (group, topic, partition, member, sought_micros)
  where first_offset < position or records > 0 or reset_cause is not null
)
select *, if(is_at_commit, ', and the group had committed where it began', '') as of_commit
from (
    select * from starts_apart
    union all
    select * from sought_apart
  )
left join (select group, hidden_reset from planned_groups) using (group)
left join shortened_logs using (topic, partition)
