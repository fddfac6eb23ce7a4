/*
about: |
  Positions at which members stood: those that they report as stalled, and those at which they
  polled on for 30 s without a delivery of the partition.

  That a member polled, and was returned nothing of any partition, is known where it commits twice
  without a delivery in between. The time begins there, and ends where its next act comes more than
  5 s later, or where the position moves: by a delivery, a seek or a reset, or as the partition is
  paused or given up, which is not known of a guest that does not show it. Of a longer time, the
  first and the last 30 s are rows. Times in which a fault was in force are left out.
subject: sessions
columns:
  partition: '-1: the member reports that it has none'
  seq: of the report; null without one
  position: 'where it stood; its group''s commit where the member has none; null: not known'
  asked_micros: by when a record has to lie above it
  at_micros: until when it stood
  since_micros: since when it polled in vain; null of a report
  is_first: whether it was delivered nothing of the partition since it was assigned
*/
{% set stood_micros = 30 * micros_per_second %}
{% set apart_micros = 5 * micros_per_second %}
-- One commit has a row for each partition, with the time at which it began in common.
with acts as (
  select distinct group, member, coalesce(began_micros, committed_micros) as at_micros,
    1 as is_commit
  from commits
  left anti join (select group from planned_groups where level != 'positions') using (group)
  union all
  select distinct group, member, at_micros, 0 from deliveries
),
followed as (
  select *, lag(is_commit) over in_order as was_commit, lag(at_micros) over in_order as was_micros
  from acts
  window in_order as (partition by group, member order by at_micros, is_commit desc)
),
numbered as (
  select *, sum(if(coalesce(at_micros - was_micros <= {{ apart_micros }}, false), 0, 1)) over (
    partition by group, member order by at_micros, is_commit desc) as turn
  from followed
),
turns as (
  select group, member, turn, max(at_micros) as turn_ended
  from numbered
  group by all
  having turn_ended - min(at_micros) >= {{ stood_micros }}
),
empty_polls as (
  select group, member, turn, turn_ended, at_micros
  from numbered join turns using (group, member, turn)
  where is_commit = 1 and was_commit = 1 and at_micros - was_micros <= {{ apart_micros }}
),
owned as (
  select group, topic, partition, member, owned_micros, true as is_owned from ownerships
),
moves as (
  select group, topic, partition, member, at_micros, last_offset + 1 as position, true as may_stand,
    'given' as change
  from deliveries
  union all
  select e.group, topic, partition, e.member, at_micros, position,
    change not in ('revoked', 'lost', 'paused'), change
  from group_events as e left join owned using (group, topic, partition, member)
  where partition >= 0 and (change in ('revoked', 'lost', 'paused', 'resumed', 'sought',
      'caught_up', 'stalled') or change = 'assigned' and at_micros = owned_micros)
  union all
  select group, topic, partition, member, at_micros, to_offset, true, 'reset'
  from client_resets
  where cause != 'seek'
  union all
  select e.group, o.topic, o.partition, e.member, at_micros, null, false, 'closed'
  from group_events as e join owned as o using (group, member)
  where change = 'closed' and at_micros >= owned_micros
),
placed as (
  select *, lead(at_micros) over in_order as moved_micros,
    last_value(position) ignore nulls over in_order as stands_at,
    max(if(change = 'assigned', at_micros, null)) over in_order as assigned_micros,
    max(if(change = 'given', at_micros, null)) over in_order as given_micros
  from moves
  window in_order as (
    partition by group, topic, partition, member order by at_micros, may_stand desc)
),
stood as (
  select group, topic, partition, member, p.at_micros as came_micros, stands_at as position,
    coalesce(given_micros < assigned_micros, true) as is_first, turn,
    min(e.at_micros) as since_micros, max(least(turn_ended, moved_micros)) as until_micros
  from placed as p join empty_polls as e using (group, member)
  where may_stand and coalesce(moved_micros - p.at_micros >= {{ stood_micros }}, true)
    and e.at_micros >= p.at_micros and coalesce(e.at_micros < moved_micros, true)
  group by all
),
windows as (
  select group, topic, partition, member, position, is_first, since_micros,
    explode(array(since_micros, until_micros - {{ stood_micros }})) as asked_micros
  from stood
  where until_micros - since_micros >= {{ stood_micros }}
),
in_force as (
  select distinct group, topic, partition, member, asked_micros
  from windows join held_faults on injected_micros <= asked_micros + {{ stood_micros }}
    and coalesce(ended_micros >= asked_micros, true)
),
calm as (
  select *
  from windows left anti join in_force using (group, topic, partition, member, asked_micros)
),
commits_then as (
  select group, topic, partition, member, asked_micros,
    max_by(offset, committed_micros) as committed_offset
  from calm join present_offsets using (group, topic, partition)
  where position is null and committed_micros <= since_micros and not is_tombstone
  group by all
)
select group, member, topic, partition, seq, position, at_micros as asked_micros, at_micros,
  cast(null as bigint) as since_micros, true as is_reported, false as is_first
from group_events
where change = 'stalled'
union all
select group, member, topic, partition, null, coalesce(position, committed_offset), asked_micros,
  asked_micros + {{ stood_micros }}, since_micros, false, is_first
from calm left join commits_then using (group, topic, partition, member, asked_micros)
