/*
about: |
  By how many members of its group each partition of a subscribed topic was owned, and when.

  From when the group was polled first. Ownership is what members reported; it ends as they give the
  partition back, are closed or killed. It pauses while a member is not polled, and from when the
  group has removed one that is cut or paused, after its session, until that is reached again. An
  ownership of less than 5 s, in which nothing was delivered, is none. A group is subscribed if its
  coordinator stored a member of it, or if it shows assignments and had none.
subject: assignments
columns:
  is_stored: its coordinator stored a member
  since: of this number of owners
  until: 'null: to the end'
  is_shown: 'false: its guests show no assignments, so that nothing is known of owners'
*/
with stored as (
  select distinct group from group_members where member != ''
),
subscribed as (
  select group, true as is_stored from stored
  union all
  select group, false
  from planned_groups
  left anti join stored using (group)
  left anti join (select group from group_events where change = 'assigned') using (group)
  where level = 'positions'
),
of_other_topics as (
  select r.group, r.topic
  from planned_readers as r join subscriptions as s on s.group = r.group
  group by all
  having count_if(coalesce(s.topic = r.topic, true)) = 0
),
groups as (
  select group, topic, level = 'positions' as is_shown, is_stored, min(since) as began_micros
  from planned_readers
  join planned_groups using (group)
  join polled_times using (group)
  join subscribed using (group)
  left anti join of_other_topics using (group, topic)
  group by all
),
given_up as (
  select group, topic, partition, member, at_micros
  from group_events
  where change in ('revoked', 'lost')
  union all
  select group, topic, partition, member, at_micros
  from ownerships join (
    select group, member, at_micros from group_events where change = 'closed'
    union all
    select group, member, injected_micros
    from faults_on_members
    where fault = 'kill') using (group, member)
),
held as (
  select group, topic, partition, member, owned_micros as since,
    min(at_micros) filter (where at_micros >= owned_micros) as until
  from ownerships
  left semi join groups using (group, topic)
  left join given_up using (group, topic, partition, member)
  group by all
),
short as (
  select group, topic, partition, member, h.since
  from held as h left join deliveries as d using (group, topic, partition, member)
  where until - h.since < {{ 5 * micros_per_second }}
  group by all
  having coalesce(count_if(d.at_micros between h.since and until), 0) = 0
),
kept as (
  select * from held left anti join short using (group, topic, partition, member, since)
),
removed as (
  select e.group, member, coalesce(proved_micros, healed_micros)
      + session_ms * {{ micros_per_second }} / 1000 as since,
    healed_micros as until
  from (select distinct group, member, worker from group_events) as e
  join faults using (worker)
  join planned_groups as g on g.group = e.group
  where fault in ('cut', 'pause') and target_kind = 'client'
  union all
  select group, member, until, lead(since) over (partition by group, member order by since)
  from polled_times
),
out as (
  select group, member, greatest(since, max(until) over earlier) as since, until
  from (
    select group, member, since, coalesce(until, run_ended_micros) as until
    from removed cross join run_conditions)
  where since < until
  window earlier as (partition by group, member order by since, until
    rows between unbounded preceding and 1 preceding)
),
pauses as (
  select group, topic, partition, o.since, least(o.until, k.until) as until
  from kept as k join out as o using (group, member)
  where o.since > k.since and o.since < least(o.until, k.until)
),
changes as (
  select group, topic, partition, since as at_micros, 1 as change from kept
  union all
  select group, topic, partition, until, -1 from kept where until is not null
  union all
  select group, topic, partition, since, -1 from pauses
  union all
  select group, topic, partition, until, 1 from pauses
  union all
  select group, topic, partition, began_micros, 0
  from groups join (select distinct topic, partition from leaderships) using (topic)
),
changed as (
  select group, topic, partition, at_micros, sum(change) as change from changes group by all
)
select group, topic, partition, at_micros as since,
  lead(at_micros) over in_order as until, sum(change) over in_order as owners, is_shown, is_stored
from changed join groups using (group, topic)
window in_order as (partition by group, topic, partition order by at_micros)
