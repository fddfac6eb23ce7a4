/*
about: |
  Commits of clients that survived, about topics as they are at the end; no tombstones.

  Those of programs beside the run are left out: no history has what they were delivered.

  Those of administrators are left out, and those by which a member repeats what one has set: it
  did not read to that offset, and has the epoch from there.
subject: commits
columns:
  offsets_partition: of `__consumer_offsets`
  offsets_offset: in that partition
  previous_offset: of the commit before of that group and partition, if both came by a transaction
    or neither; null after a tombstone
  previous_epoch: null where an administrator set it
  previous_style: how its member chose the epoch; null where that is not known
  polled_epoch: of the record before (offset - 1), as the group was delivered it last before the
    commit
  polled_micros: when the group was last delivered that record; null if only by a topic that had
    the name before, or never
  is_of_former: whether the group was delivered the record before only by a topic that had the
    name before this one was created
  logged_epoch: of the record before, as the surviving log has it, control batches included; null
    if it was not there when the commit was stored
  replaced_by: the epoch of the record that the surviving log has there since
  record_epoch: polled_epoch, or else logged_epoch
  is_unclear: whether a delivery of the record before may have been before the commit or after it,
    as clocks were apart
  is_after_control: whether the record before is a control record, which is never delivered
  led_epoch: the partition's leader epoch when the commit was stored
  commit_epoch: the way to choose an epoch, of the member's commit, or by the group's plan
  could_know: 'whether the group had an epoch to commit: it polled the record before since it was
    opened last, by a client that shows epochs, had committed that offset with an epoch just before, or gets its epochs from
    elsewhere than its records'
*/
with styles as (
  select group, topic, partition, member as by_member, seq as by_seq, commit_epoch as own_style
  from commits
),
marked as (
  select *, offset - 1 as before, committed_micros + {{ commit_clock_micros }} as until,
    coalesce(producer_id >= 0, false) as is_transactional,
    max(actor <=> 'administrator') over (
      partition by group, topic, partition, offset, committed_epoch
      order by offsets_offset, committed_micros) as is_set
  from present_offsets left join styles using (group, topic, partition, by_member, by_seq)
),
compared as (
  select *,
    lag(offset) over in_order as previous_offset,
    lag(if(is_set, null, committed_epoch)) over in_order as previous_epoch,
    lag(committed_micros) over in_order as previous_micros,
    lag(own_style) over in_order as previous_style
  from marked
  window in_order as (
    partition by group, topic, partition, is_transactional
    order by offsets_offset, committed_micros)
),
shown as (
  select group from planned_groups
  union all
  select group from requested_commits
),
kept as (
  select * from compared left semi join shown using (group)
  where not is_tombstone and not is_set
),
unshown as (
  select distinct group, member, topic, partition, true as is_unshown from unshown_epochs
),
deliveries_before as (
  select k.*, p.leader_epoch, p.polled_micros as at_micros, p.seq,
    coalesce(is_unshown, false) as is_unshown,
    coalesce(p.member = by_member, false) as is_ordered,
    coalesce(p.polled_micros < created_micros, false) as was_former
  from kept as k
  join sliced_polls as p on (p.group, p.topic, p.partition, p.offset)
    = (k.group, k.topic, k.partition, k.before)
  left join recreations as r on (r.topic, r.partition) = (k.topic, k.partition)
  left join unshown as u on (u.group, u.member, u.topic, u.partition)
    = (p.group, p.member, p.topic, p.partition)
),
polled as (
  select {{ commit_key }},
    max_by(leader_epoch, struct(is_ordered, if(is_ordered, seq, at_micros)))
      filter (where not was_former) as polled_epoch,
    max_by(is_unshown, struct(is_ordered, if(is_ordered, seq, at_micros)))
      filter (where not was_former) as is_unshown,
    max(at_micros) filter (where not was_former) as polled_micros,
    max(not is_ordered and at_micros >= until - :skew_micros) as is_unclear
  from deliveries_before
  where if(is_ordered, seq < by_seq, at_micros < until + :skew_micros)
  group by all
),
openings as (
  select group, at_micros as opened_micros from group_events where change = 'opened'
),
opened as (
  select {{ commit_key }}, max(opened_micros) as opened_micros
  from kept join openings using (group)
  where opened_micros <= committed_micros
  group by all
),
controls as (
  select topic, partition, base_offset as offset, leader_epoch, true as is_control
  from replica_batches left semi join survivors using (topic, partition, broker)
  where is_control
),
held as (
  select topic, partition, offset, leader_epoch, false as is_control from surviving_records
  union all
  select * from controls
),
logged as (
  select topic, partition, offset as before, max(leader_epoch) as logged_epoch,
    max(is_control) as is_after_control
  from held
  group by all
),
led as (
  select {{ commit_key }}, max(leader_epoch) as led_epoch
  from kept join leaderships using (topic, partition)
  where at_micros < until
  group by all
),
joined as (
  select k.*, polled_epoch, polled_micros, is_unshown, is_unclear, led_epoch, opened_micros,
    coalesce(own_style, commit_epoch) as commit_epoch, is_after_control,
    if({{ was_there("logged_epoch", "before", "until") }}, null, logged_epoch) as replaced_by,
    logged_epoch as any_epoch,
    p.group is not null and polled_micros is null as is_of_former
  from kept as k
  left join polled as p using ({{ commit_key }})
  left join logged using (topic, partition, before)
  left join timelines using (topic, partition)
  left join led using ({{ commit_key }})
  left join opened using ({{ commit_key }})
  left join planned_groups using (group)
),
known as (
  select *, if(replaced_by is null, any_epoch, null) as logged_epoch from joined
)
select group, topic, partition, offsets_partition, offsets_offset, offset, committed_epoch,
  committed_micros, is_transactional, previous_offset, previous_epoch, previous_micros,
  previous_style, polled_epoch, polled_micros, is_of_former, logged_epoch, replaced_by, led_epoch,
  commit_epoch,
  coalesce(polled_epoch, logged_epoch) as record_epoch,
  coalesce(is_unclear, false) as is_unclear,
  coalesce(logged_epoch >= 0 and is_after_control, false) as is_after_control,
  coalesce(
    polled_micros - :jump_micros >= coalesce(opened_micros, 0) and not is_unshown
    or coalesce(commit_epoch, 'record') not in ('record', 'application')
    or (previous_offset = offset and previous_epoch >= 0), false) as could_know
from known
