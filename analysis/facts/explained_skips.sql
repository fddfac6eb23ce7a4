/*
about: Rows of `never_delivered`, each with what explains it.
subject: progress
kept: false
optional: [histories]
like: never_delivered
columns:
  commit_epoch: of the group's plan
  committed_offset: of its last commit
  jumped_to: the offset to which `auto.offset.reset` led past it
  policy: 'that of this reset: `latest`, or `by_duration` (KIP-1106)'
  withheld_at: the position behind which a client left its commits out, so that the group resumed
    past it; null if none did
  set_to: the offset to which an administrator moved the group past it
  set_unreported: that of a commit that no client of the run reports
  truncated_to: the offset to which the client went for a truncation that it placed above it
  requested_epoch: of the position that was truncated
  exact: the end of that epoch in the leader's log, if no other response was right and the client
    went further
  unclean_epochs: of several unclean elections, where that offset is the one that the leader then
    had to return for the position's epoch, which was newer than the record's; else null
  is_replaced: whether it took the place of a record that was delivered to the group before, and
    then truncated; false where a reset led past it
  is_unseen: whether the leader returned an end of that record's epoch above what the group had
    read of it, so that no client could notice that compares
    the end of the epoch with its position (KIP-320)
  read_epoch: that epoch, if so
  is_gapped: whether a history that has deliveries to the group lacks events
*/
{% set skip_key = "group, topic, partition, offset, leader_epoch" %}
with led_past as (
  select {{ skip_key }}, max(to_offset) filter (where is_jump) as jumped_to,
    max(policy) filter (where is_jump) as policy,
    max(to_offset) filter (where cause = 'truncation') as truncated_to,
    max(from_epoch) filter (where cause = 'truncation') as requested_epoch,
    max(exact) filter (where cause = 'truncation' and to_offset > exact) as exact,
    max(unclean_epochs) filter (where cause = 'truncation' and leader_epoch < from_epoch
      and to_offset = answered) as unclean_epochs
  from never_delivered join reset_ranges using (group, topic, partition)
  where offset >= covers_from and offset < to_offset
  group by all
),
withheld as (
  select {{ skip_key }}, max(position) as withheld_at
  from never_delivered join withheld_commits using (group, topic, partition)
  where offset >= position and offset < stored_offset
  group by all
),
-- Only where a member was assigned the partition while that offset stood.
moves as (
  select group, topic, partition, moved_from, a.offset as moved_to, is_reported
  from administered as a join group_events using (group, topic, partition)
  where change = 'assigned' and at_micros >= a.committed_micros - :clock_micros
    and coalesce(at_micros <= until_micros + :clock_micros, true)
),
moved_past as (
  select {{ skip_key }}, max(moved_to) filter (where is_reported) as set_to,
    max(moved_to) filter (where not is_reported) as set_unreported
  from never_delivered join moves using (group, topic, partition)
  where offset >= moved_from and offset < moved_to
  group by all
),
read as (
  select group, topic, partition, leader_epoch as read_epoch, max(last_offset) as last_read
  from {{ of_present_topic("deliveries", "at_micros") }}
  where leader_epoch >= 0
  group by all
),
branches as (
  select *, {{ fork_then("read_epoch", forever) }} as forked_at,
    coalesce({{ end_then("read_epoch", forever) }} > last_read, false) as is_unseen
  from read left join timelines using (topic, partition)
),
replaced as (
  select {{ skip_key }}, max(read_epoch) as read_epoch, max(is_unseen) as is_unseen
  from never_delivered join branches using (group, topic, partition)
  where read_epoch != leader_epoch and offset >= forked_at and offset <= last_read
  group by all
),
lacking as (
  select worker from histories where missing_seqs > 0 or malformed_lines > 0
),
gapped as (
  select distinct group, true as is_gapped from deliveries left semi join lacking using (worker)
),
explained as (
  select * except (is_gapped), coalesce(is_gapped, false) as is_gapped,
    read_epoch is not null and jumped_to is null
      and coalesce(set_to, set_unreported) is null
      and (truncated_to is null or commit_epoch = 'none') as is_replaced
  from never_delivered
  left join (select group, commit_epoch from planned_groups) using (group)
  left join {{ last_commits("present_offsets") }} using (group, topic, partition)
  left join led_past using ({{ skip_key }})
  left join withheld using ({{ skip_key }})
  left join moved_past using ({{ skip_key }})
  left join replaced using ({{ skip_key }})
  left join gapped using (group)
)
select * except (is_unseen, read_epoch), is_replaced and is_unseen as is_unseen,
  if(is_replaced and is_unseen, read_epoch, null) as read_epoch
from explained
