/*
about: |
  What members and clients of a group reported about a partition, and its coordinator about the
  group, in words.

  A member that is assigned a partition begins at its first delivery, and at its position if there
  is none before its application seeks.
subject: moments
kept: false
optional: [group_events, assignments, group_samples]
columns:
  topic: empty where it is about no partition
  kind: member, position or reset
  worker: whose history has it; null of a client's log, and of a coordinator
  seq: its place there
  offset: the position from then on
  from_offset: the position before a reset
*/
with sought as (
  select group, member, topic, partition, seq as sought_seq, at_micros as sought_micros
  from group_events
  where change = 'sought'
),
moved as (
  select distinct group, member, topic, partition, from_seq
  from assignments join sought using (group, member, topic, partition)
  where sought_seq > from_seq and sought_micros <= first_micros
),
begun as (
  select group, member, topic, partition, from_seq as seq, first_offset
  from assignments left anti join moved using (group, member, topic, partition, from_seq)
),
events as (
  select e.*, first_offset, coalesce(first_offset, position) as offset,
    nullif(exception, '') as raised
  from group_events as e left join begun as b
    on (b.group, b.member, b.topic, b.partition, b.seq)
      = (e.group, e.member, e.topic, e.partition, e.seq) and change = 'assigned'
)
select group, topic, partition, at_micros, member as who,
  concat(replace(change, '_', ' '),
    case
      when first_offset is not null then format_string(', begins at offset %s', first_offset)
      when offset is not null then format_string(' at offset %s', offset)
      else ''
    end,
    if(raised is null, '', format_string(': %s: %s', raised, message))) as what,
  if(offset is null and raised is null, 'member', 'position') as kind, worker, seq, offset,
  cast(null as bigint) as from_offset
from events
union all
select group, topic, partition, at_micros, member,
  format_string('resets (%s)%s, epoch %s: %s (policy %s)', cause,
    if(from_offset is null, '', format_string(' from %s', from_offset)), from_epoch,
    if(to_offset is null, 'raises', format_string('to %s', to_offset)), policy),
  'reset', null, null, to_offset, from_offset
from logged_resets
union all
select group, '', -1, at_micros, concat('broker ', cast(broker as string)),
  concat('coordinates the group, which is ', state), 'member', null, null, null, null
from group_samples
where state != ''
