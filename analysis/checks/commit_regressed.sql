/*
id: D1
definition: A group's committed offset went back on a partition, though nothing had reset its
  position.
explanation: A member that does not hold the partition has no position to commit, whatever its
  client did. Where members are assigned by hand, each has a position of its own, so that commits
  of two of them may go back.
permitted: since the previous commit, a reset, a reported truncation of the partition or a start
  where a coordinator had returned an older commit led to the offset or below it. Or the application chose the offset and not the client (all styles but
  `record`, `position`, `metadata` and `max`), as the one behind a record that the group had been
  delivered; from there to the previous offset it was delivered none.
undecided: the group had no members; a guest may have been reset unseen; no client of the run reports one of the two
  commits; a commit of unknown outcome, which this group had begun by then on this partition, has
  one of the two offsets; or the group's client commits by itself, so that no outcome is known.
evaluates: every commit that has a predecessor, except those of transactions, which may have been
  aborted.
source: >-
  `OffsetMetadataManager` stores the commits of the current generation, of any partition;
  `KafkaConsumer`, Consumer Groups: each partition is assigned to one member; Manual Partition
  Assignment: consumers that share a group id may conflict in their commits;
  `ConsumerCoordinator`: only
  a seek or a reset moves a position back (KIP-320); `KafkaConsumer.commitSync`: an application
  commits the offset of the last record plus one. A position may lie above, behind control records.
needs: [committed_offsets]
optional: [commits, group_members, commits_of_non_owners, subscribed_groups,
  starts_as_returned]
evaluated: select count(*) as evaluated from pairs
cases:
- violation: not the owner
  when: holder is not null
  cause: the committed offset went back from {previous_offset} to {offset} by a commit of {member};
    {how}, {holder} held the partition
- permitted: '{reset_cause}'
  when: reset_cause is not null
  cause: the committed offset went back from {previous_offset} to {offset} after a reset
- permitted: over no record
  when: is_behind_last
  cause: the committed offset went back from {previous_offset} to {offset}, behind the last record
    of the application; none lay between
- undecided: not reported
  when: is_unreported
  cause: the committed offset went back from {previous_offset} to {offset}; no client of the run
    reports one of the two commits
- undecided: without members
  when: is_empty
  cause: the committed offset went back from {previous_offset} to {offset} when the group had no
    members
- undecided: silent
  when: is_unknown
  cause: the committed offset went back from {previous_offset} to {offset}; {unknown}
- violation: silent
  cause: the committed offset went back from {previous_offset} to {offset} without a reset
  undecided_if: hidden_reset is not null
evidence: previous_offset, records, committed_epoch, reset_cause, member, holder
place:
  offset_first: offset
  offset_last: previous_offset
  at: committed_micros
*/
with pairs as (
  select * from stored_commits where not is_transactional and previous_offset is not null
),
led as (
  select group, topic, partition, to_offset, at_micros, cause from client_resets
  union all
  select group, topic, partition, coalesce(divergent_offset, 0), at_micros, exception
  from group_events
  where change = 'failed' and exception rlike {{ is_notice }}
  union all
  select group, topic, partition, start, from_micros, 'start as returned'
  from starts_as_returned
  where is_returned
),
unknown as (
  select group, topic, partition, offset as unknown_offset,
    coalesce(began_micros, committed_micros) - :clock_micros as begun_micros
  from commits
  where outcome = 'unknown'
),
back as (
  select {{ commit_key }}, offset, committed_epoch, committed_micros, previous_offset,
    polled_micros is not null and commit_epoch in ('application', 'forced', 'none', 'stale')
      as is_chosen,
    max_by(cause, at_micros) filter (where to_offset <= offset
      and at_micros >= previous_micros - {{ commit_clock_micros }} - :skew_micros
      and at_micros <= committed_micros + {{ commit_clock_micros }} + :skew_micros) as reset_cause
  from pairs left join led using (group, topic, partition)
  where offset < previous_offset
  group by all
),
may_be as (
  select distinct {{ commit_key }}, true as may_be_stored
  from back join unknown using (group, topic, partition)
  where unknown_offset in (offset, previous_offset)
    and begun_micros <= committed_micros + {{ commit_clock_micros }}
),
unreported as (
  select distinct {{ commit_key }}, true as is_unreported
  from back
  join (select group, topic, partition, stored_offset, stored_micros from unreported_commits)
    using (group, topic, partition)
  where stored_offset in (offset, previous_offset) and stored_micros <= committed_micros
),
again as (
  select distinct {{ commit_key }}, true as is_delivered
  from back join sliced_polls as p using (group, topic, partition)
  where p.offset between back.offset and previous_offset - 1
),
-- The group as its coordinator had stored it before the commit.
members_then as (
  select {{ commit_key }},
    if(protocol = 'classic', m.member != '', m.generation is not null) as is_in,
    rank() over (partition by {{ commit_key }}, if(protocol = 'classic', '', m.member)
      order by at_offset desc) as nth
  from back join (
    select group, offsets_partition, protocol, member, generation, offsets_offset as at_offset
    from group_members) as m using (group, offsets_partition)
  where at_offset < offsets_offset
),
empty as (
  select {{ commit_key }}, true as is_empty
  from members_then
  where nth = 1
  group by all
  having not max(is_in)
),
-- Of a group whose coordinator admitted no member, several may have a partition by hand.
by_hand as (
  select {{ commit_key }}
  from back join reported_assignments as a using (group, topic, partition)
  left anti join subscribed_groups using (group)
  where from_micros <= committed_micros and coalesce(left_micros >= committed_micros, true)
  group by all
  having count(distinct a.member) > 1
)
select *, previous_offset - offset as records,
  coalesce(is_by_client, false) or coalesce(may_be_stored, false) as is_unknown,
  if(is_by_client, 'the group''s client does not report what it commits',
    'the outcome of a commit is unknown') as unknown,
  is_chosen and is_delivered is null as is_behind_last,
  coalesce(is_unreported, false) as is_unreported, coalesce(is_empty, false) as is_empty
from back
left anti join by_hand using ({{ commit_key }})
left join may_be using ({{ commit_key }})
left join again using ({{ commit_key }})
left join unreported using ({{ commit_key }})
left join empty using ({{ commit_key }})
left join commits_of_non_owners using ({{ commit_key }})
left join planned_groups using (group)
