/*
about: |
  What keeps a group, or one member's partitions, waiting by Kafka's own limits, and how long.

  A session from the last heartbeat of a member that is gone, begun anew by a coordinator that loads
  the group; of one that was closed, until the first generation without it, with the classic
  protocol: none is complete before each member has joined it or is out. The rebalance timeout of a
  member that is not polled; the request timeout after another coordinator was elected, and times in
  which its partition could not be served.
subject: assignments
columns:
  member: 'that the group waits for; null: the whole group waits'
  until: 'null: to the end'
  why: a clause
  is_idle: the member was not polled
  limit_micros: 'at most so long after the member was to give a partition back; null: to `until`'
  is_open: it may last longer, since neither the log nor the settings name the limit
  open_until: 'until when it may last then; null: to the end'
*/
-- Epoch 0 is that of the partition's creation, before which it had no group.
with coordinators as (
  select group, broker, epoch, from_micros, until_micros
  from places_of_groups join leader_epochs on partition = offsets_partition
  where topic = {{ offsets_topic }}
),
ended_slowly as (
  -- The last heartbeat: one that was held up counts if the session had not ended by the heal.
  select group, member, injected_micros as since,
    case
      when fault = 'kill' then injected_micros
      when fault in ('cut', 'pause')
          and coalesce(healed_micros > proved_micros + session_micros, true)
        then coalesce(proved_micros, healed_micros)
      else healed_micros
    end as until,
    concat('a member was under fault ', fault) as why
  from faults_on_members join limits_of_groups using (group)
  union all
  select group, member, at_micros, at_micros, 'a static member was closed'
  from group_events join limits_of_groups using (group)
  where change = 'closed' and is_static
),
-- The close of a member is recorded when it has ended, which takes up to 30 s after its last poll.
closed as (
  select e.group, e.member, worker, at_micros,
    if(max(p.until) is null, max(at_micros),
      greatest(max(p.until), max(at_micros) - {{ 30 * micros_per_second }})) as last_micros
  from group_events as e left join polled_times as p
    on (p.group, p.member) = (e.group, e.member) and p.until <= at_micros
  where change = 'closed'
  group by e.group, e.member, worker, at_micros
),
-- A member leaves by a request to the coordinator that it knows, be it a former one that a fault
-- partitions from the others, which can't store that it left.
closed_under_faults as (
  select distinct e.group, member, at_micros, last_micros
  from closed as e join held_faults
    on injected_micros <= at_micros and coalesce(ended_micros >= last_micros, true)
  left join coordinators as c
    on c.group = e.group and from_micros <= at_micros
      and coalesce(until_micros > injected_micros, true)
  where target_worker = e.worker or target_group = e.group or size(brokers) > 0
    and coalesce(array_contains(brokers, broker), true)
),
generations as (
  select g.group, offsets_partition, offsets_offset, g.at_micros,
    count_if(g.member != '' and e.member is null) = 0 as is_of_known
  from group_members as g
  left join member_metadata as m on (m.group, m.member) = (g.group, g.member)
  left join (select distinct group, member from group_events) as e
    on (e.group, e.member) = (g.group, m.client_id)
  where protocol = 'classic'
  group by all
),
in_generations as (
  select distinct g.group, client_id as member, offsets_partition, offsets_offset
  from group_members as g join member_metadata as m
    on (m.group, m.member) = (g.group, g.member)
  where protocol = 'classic'
),
-- What is stored after its last poll is without a member that has left; of one that was in none, it
-- is not known whether it was given an id later.
stored_without as (
  select c.group, c.member, c.at_micros, min(g.at_micros) as gone_micros
  from closed_under_faults as c
  left join (select distinct group, member, true as is_stored from in_generations) as s
    on (s.group, s.member) = (c.group, c.member)
  join generations as g
    on g.group = c.group and is_of_known
      and g.at_micros > if(coalesce(s.is_stored, false), last_micros, c.at_micros)
  left anti join in_generations as i
    on (i.group, i.member, i.offsets_partition, i.offsets_offset)
      = (c.group, c.member, g.offsets_partition, g.offsets_offset)
  group by all
),
-- A member that was polled no longer after an exception keeps nobody waiting if it owns nothing.
last_changes as (
  select group, member, p.until, e.topic, e.partition, change = 'failed' as is_failure,
    max_by(change, seq) as change
  from polled_times as p join group_events as e using (group, member)
  where change in ('assigned', 'revoked', 'lost')
    and at_micros <= p.until + {{ micros_per_second }}
    or change = 'failed' and abs(at_micros - p.until) <= {{ micros_per_second }}
  group by all
),
shut_out as (
  select group, member, until
  from last_changes
  group by all
  having max(is_failure) and count_if(change = 'assigned') = 0
),
polled_then as (
  select group, member, since, until, lead(since) over (
      partition by group, member order by since) as again_micros
  from polled_times
),
gone as (
  select group, member, at_micros from group_events where change = 'closed'
  union all
  select group, member, injected_micros from faults_on_members where fault = 'kill'
),
idle as (
  select p.group, p.member, p.until as since,
    least(again_micros, min(g.at_micros) filter (where g.at_micros >= p.until)) as until
  from polled_then as p left join gone as g using (group, member)
  left anti join shut_out using (group, member, until)
  group by p.group, p.member, p.until, again_micros
),
sessions as (
  select group, member, since, until + session_micros as until, why,
    not is_session_known as is_open, null as gone_micros
  from ended_slowly join limits_of_groups using (group)
  union all
  select group, member, at_micros, least(at_micros + session_micros, gone_micros),
    'a member was closed while a fault held', not is_session_known, gone_micros
  from closed_under_faults join limits_of_groups using (group)
  left join stored_without using (group, member, at_micros)
),
-- With the consumer protocol a member has a rebalance timeout of its own.
own_limits as (
  select group, client_id as member, max(nullif(rebalance_ms, 0)) as own_ms
  from member_metadata
  group by all
)
select group, member, since, until, why, false as is_idle, null as limit_micros, is_open,
  null as open_until
from sessions
union all
-- A coordinator that loads a group begins its sessions anew.
select s.group, member, from_micros, least(from_micros + session_micros, gone_micros), why, false,
  null, false, null
from sessions as s join coordinators as c on c.group = s.group
join limits_of_groups as g on g.group = s.group
where from_micros > s.since and coalesce(from_micros <= s.until, true) and epoch > 0
union all
select group, member, since, if(is_for_all, least(until, since + idle_micros), until),
  'a member was not polled', true, if(is_for_all, null, idle_micros + session_micros),
  not is_poll_known, until
from (
  select i.*, session_micros, is_for_all, is_poll_known,
    coalesce(if(is_classic, null, own_ms) * {{ micros_per_second }} / 1000, poll_micros)
      + if(is_static, session_micros, 0) as idle_micros
  from idle as i join limits_of_groups using (group) left join own_limits using (group, member))
union all
select group, null, from_micros,
  from_micros + coalesce(request_ms, 30000) * {{ micros_per_second }} / 1000,
  'another coordinator was elected', false, null, false, null
from coordinators join planned_groups using (group)
where epoch > 0
union all
select group, null, since, until, 'the partition of the coordinator could not be served', false,
  null, false, null
from places_of_groups join unservable on partition = offsets_partition
where topic = {{ offsets_topic }}
