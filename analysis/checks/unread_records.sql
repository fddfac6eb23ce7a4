/*
id: H7
definition: >-
  Records waited in a partition that no polled member of its group owned, though a member was
  polled, for longer than Kafka's limits explain.
explanation: >-
  The wait begins when no polled member owned the partition, or its owner had to be removed, a
  member was polled, and a record lay at the group's position or above: below the high watermark
  that a leader reported, delivered to another group, or acknowledged with acks=all; for a
  read_committed group of no aborted transaction, and when the last transaction of the partition
  had ended. It ends with an assignment of 5 s or a delivery, or with the polls. Of a guest that
  shows no assignments, it is the time from the last delivery of the partition on. A group whose members are assigned by hand is
  left out. 30 s are allowed, or what a rebalance takes by the settings, if that is longer; with a
  fault in force, as in `fetch_unavailable`. The rest has to be explained. `__consumer_offsets` has
  the timeouts and instance ids of members, who had not given a partition back, in which state, and
  to whom the group's assignment gave it; where it has no timeouts, those that are planned count.
permitted: >-
  for the rest one of these lasted: a fault on the polled member, on the group, on the partition's
  leader, on the group's coordinator or on half of the brokers; `session.timeout.ms`, from its last
  heartbeat on, of a member that was killed, cut or paused, or that is static and was closed, or was
  closed while a fault held on it, on its group, or on a broker that was its coordinator then or
  earlier in the fault, of the classic protocol until a generation was stored without it; the
  rebalance timeout, with the classic protocol the largest of all members, of a member that was not
  polled, and so had not revoked or rejoined, unless the coordinator had granted the partition to
  another one for more than 30 s; with KIP-848 both count only of a member that had the partition,
  or was granted it, while it has it, or is to have it, by the log; the partition of the coordinator
  had no leader or too small an ISR, or the request timeout after another one was elected, which
  also begins sessions anew; with the classic protocol, `metadata.max.age.ms` of a partition that
  was created meanwhile, not in the place of another one; of a partition that was not delivered to
  its owner or to guests, the same of a former leader as in `fetch_unavailable`.
undecided: >-
  a member owned the partition, and was polled and delivered nothing of it any more; or the group
  shows assignments, had none, and its coordinator stored no member; or the group reads committed
  values, and a transaction of the partition has no end; or its guests may have been reset to the
  log end unseen; or a fault was in force, and the client's request timeout is not known; or a
  session or the pause between two polls is of a guest whose limit neither the log nor its settings
  name.
evaluates: >-
  each time in which a partition of a group that was polled had one number of owners. It is
  exercised by times of 2 s or more in which a member was polled, and none that was owned a
  partition, or its owner was delivered nothing of it any more.
source: >-
  KIP-62: a rebalance waits for `max.poll.interval.ms`, a killed member for `session.timeout.ms`;
  KIP-345: a static member that was closed as well, or was not polled for too long; KIP-848: a
  refused member is fenced, and joins again at once; KAFKA-14462: the coordinator assigns a new
  partition by itself; KIP-98.
needs: [poll_spans, group_members, leaderships]
evaluated: select count(*) as evaluated from readership
exercised: unread_waits
cases:
- undecided: not delivered to its owner
  when: is_held
  cause: >-
    {member} owned the partition, and was polled and delivered nothing of it for the last
    {seconds:.1f} s, though {records} records waited from {position} on; {explained}{paused}{raised}
  permitted_if: servable_seconds <= allowed_seconds
- violation: no owner
  when: is_shown
  cause: >-
    no member that was polled owned the partition for {seconds:.1f} s, in which {member} was polled
    and {records} records waited from {position} on; {explained}{by_coordinator}{raised}
  permitted_if: servable_seconds <= allowed_seconds
  undecided_if: >-
    not is_stored or is_open or may_last_longer or may_be_silent and request_ms is null
- violation: not delivered
  cause: >-
    no member was delivered anything of the partition for {seconds:.1f} s, in which {member} was
    polled and {records} records waited from {position} on; {explained}{raised}
  permitted_if: servable_seconds <= allowed_seconds
  undecided_if: is_open or may_be_at_end or may_last_longer or may_be_silent and request_ms is null
evidence: >-
  member, position, records, seconds, servable_seconds, allowed_seconds, explained,
  granted_to, granted_seconds
place:
  offset_first: position
  at: at
*/
with stood as (
  select distinct group, member, topic, partition from standstills
),
-- What `stuck_consumer` judges is not undecided here.
waits as (
  select u.*, false as needs_insync
  from unread_waits as u
  left anti join stood as s on (s.group, s.member) = (u.group, u.member)
    and (is_held or not is_stored)
    and (s.partition = -1 or (s.topic, s.partition) = (u.topic, u.partition))
  where ended - at >= {{ 30 * micros_per_second }}
),
outages as (
  select * from {{ with_timeouts("waits", "planned_groups", "group") }}
),
-- What the coordinator stored: who had it, and who was to have it.
granted_then as (
  select o.group, topic, partition, member, at, ended, granted_to, is_named, in_state, is_pending,
    since, until, least(until, ended) - greatest(since, at) as micros
  from outages as o join stored_grants using (group, topic, partition)
  where since < ended and coalesce(until > at, true)
),
grants as (
  select group, topic, partition, member, at, ended, granted_to, is_named,
    sum(micros) / {{ micros_per_second }} as granted_seconds,
    max_by(in_state, micros) as in_state
  from granted_then
  group by all
),
assigned as (
  select group, topic, partition, member, at, ended, assigned_to,
    sum(least(until, ended) - greatest(since, at)) / {{ micros_per_second }} as assigned_seconds
  from outages join stored_assignments using (group, topic, partition)
  where since < ended and coalesce(until > at, true)
  group by all
),
not_assigned as (
  select g.group, g.epoch, g.at_micros as since, min(a.at_micros) as until
  from group_epochs as g
  left join group_epochs as a
    on a.group = g.group and a.is_of_assignment and a.epoch >= g.epoch
  where not g.is_of_assignment
  group by all
),
of_epochs as (
  select o.group, topic, partition, member, at, ended, max_by(epoch, since) as epoch,
    (max(least(until, ended)) - min(greatest(since, at)))
      / {{ micros_per_second }} as not_assigned_seconds
  from outages as o join not_assigned as e on e.group = o.group
  where since < ended and coalesce(until > at, true)
  group by all
),
-- What Kafka, the story or a fault takes the time for, of one group or of one partition of it.
leaders_then as (
  select group, topic, partition, broker, from_micros, until_micros
  from outages join leader_epochs using (topic, partition)
  union
  select group, o.topic, o.partition, broker, from_micros, until_micros
  from outages as o join places_of_groups using (group)
  join leader_epochs as l on (l.topic, l.partition) = ({{ offsets_topic }}, offsets_partition)
),
of_unknown_length as (
  select distinct o.group, at, ended, true as may_last_longer
  from outages as o join group_delays as d on d.group = o.group
  where d.is_open and since < ended and coalesce(open_until > at, true)
),
of_groups as (
  select group, member, since, until, why, is_idle, limit_micros from group_delays
  union all
  select distinct o.group, null, injected_micros, ended_micros, 'a fault was in force', false, null
  from outages as o join held_faults on coalesce(target_group = o.group, true)
  where size(brokers) = 0 and target_kind != 'client'
),
of_partitions as (
  select group, topic, partition, greatest(injected_micros, from_micros) as since,
    least(ended_micros, until_micros) as until, 'a fault was in force' as why
  from leaders_then join held_faults on array_contains(brokers, broker)
  union all
  select distinct group, topic, partition, created_micros,
    created_micros + metadata_age_ms * {{ micros_per_second }} / 1000, 'the partition was created'
  from outages join creations using (topic, partition) join planned_groups using (group)
  join readership as r using (group, topic, partition)
  where r.since < created_micros and is_classic and creation = 0
),
-- Who had not given it back, or was to have it, and when; where the log has no states, who ever
-- had it.
holders as (
  select distinct group, topic, partition, member, null as had_micros, null as gave_micros,
    false as is_pending
  from ownerships
  left anti join (
    select m.group, client_id as member
    from member_metadata as m left semi join member_states using (group)) using (group, member)
  union all
  select distinct group, topic, partition, granted_to, since, until, is_pending from granted_then
  union all
  select group, topic, partition, assigned_to, since, until, false from stored_assignments
),
explanations as (
  select group, topic, partition, member, at, ended, since, until,
    'the partition could not be served' as why
  from outages join unservable using (topic, partition)
  where not is_small
  union all
  select group, topic, partition, member, at, ended, since, until,
    'too few brokers were in service'
  from outages cross join service_gaps
  where not is_of_clients
  union all
  select o.group, topic, partition, o.member, at, ended, injected_micros, healed_micros,
    'the member was under a fault'
  from outages as o join faults_on_members as f on (f.group, f.member) = (o.group, o.member)
  where fault != 'kill'
  union all
  select o.group, o.topic, o.partition, o.member, at, ended,
    if(is_classic, since, greatest(since, had_micros)),
    least(until, greatest(since, if(is_pending, had_micros, at)) + limit_micros,
      if(is_classic, null, gave_micros)), why
  from outages as o join of_groups as e on e.group = o.group
  join planned_groups as p on p.group = o.group
  -- With the classic protocol a rebalance waits for each member.
  left join holders as h
    on (h.group, h.topic, h.partition, h.member) = (o.group, o.topic, o.partition, e.member)
  -- No other member has to give back what the coordinator had granted to this one.
  left anti join grants as g
    on (g.group, g.topic, g.partition, g.member, g.at)
      = (o.group, o.topic, o.partition, o.member, o.at)
      and is_named and is_idle and granted_to != e.member and granted_seconds > 30
  where is_classic or e.member is null or h.member is not null
  union all
  select group, topic, partition, member, at, ended, since, until,
    'its former leader was partitioned from the controllers, not from the member'
  from outages join stale_leaders using (group, member, topic, partition)
  where is_held or not is_shown
  union all
  select o.group, o.topic, o.partition, member, at, ended, since, until, why
  from outages as o join of_partitions as e
    on (e.group, e.topic, e.partition) = (o.group, o.topic, o.partition)
),
within as (
  select * except (since, until), since, coalesce(until, ended) as until
  from explanations
  where since < ended and coalesce(until > at, true)
),
whys as (
  select group, topic, partition, member, at, ended,
    array_join(sort_array(collect_set(why)), ', ') as whys
  from within
  group by all
),
measured as (
  select * from {{ with_service("outages", "within", "group, topic, partition, member") }}
),
-- Of members that were polled meanwhile, the one that was for longest.
longest as (
  select measured.*, greatest(required_seconds, round_ms / 1000) as allowed_seconds,
    row_number() over (
      partition by group, topic, partition, is_held, position order by
        servable_seconds desc, seconds desc, member) = 1
      as is_longest
  from measured join (select group, round_ms from planned_groups) using (group)
),
granted as (
  select group, topic, partition, member, at, ended,
    max_by(granted_to, granted_seconds) as granted_to, max(granted_seconds) as granted_seconds,
    max_by(in_state, granted_seconds) as in_state
  from grants
  group by all
),
last_assigned as (
  select group, topic, partition, member, at, ended,
    max_by(assigned_to, assigned_seconds) as assigned_to,
    max(assigned_seconds) as assigned_seconds
  from assigned
  group by all
),
-- In which states its group was, by the broker that coordinates it.
sampled as (
  select group, state, at_micros as since, lead(at_micros) over (
      partition by group, broker order by at_micros) as until
  from group_samples
),
in_states as (
  select o.group, topic, partition, member, at, ended, state,
    sum(least(until, ended) - greatest(since, at)) / {{ micros_per_second }} as state_seconds
  from outages as o join sampled as s on s.group = o.group
  where since < ended and coalesce(until > at, true)
    and state not in ('', 'Stable', 'Empty', 'Dead')
  group by all
),
not_stable as (
  select group, topic, partition, member, at, ended,
    concat('; the group was ', array_join(sort_array(collect_list(
      format_string('%s for %.1f s', state, state_seconds))), ', ')) as group_was
  from in_states
  where state_seconds >= 1
  group by all
),
joined_again as (
  select o.group, o.topic, o.partition, o.member, at, ended,
    max_by(format_string('; the client of %s had set out to join its group %s times in %.1f s',
      l.member, times, (ended_micros - began_micros) / {{ micros_per_second }}), times) as loop
  from outages as o join join_loops as l on l.group = o.group
  where began_micros < ended and ended_micros > at
  group by all
),
paused as (
  select distinct m.group, m.topic, m.partition, m.member, at, ended,
    '; its application had paused it before it was assigned again, and not resumed it' as paused
  from measured as m
  join kept_pauses as k
    on (k.group, k.topic, k.partition, k.member) = (m.group, m.topic, m.partition, m.member)
  where is_held and k.at_micros <= m.ended and coalesce(resumed_micros > m.at, true)
),
raised as (
  select m.group, m.topic, m.partition, m.member, at, ended,
    max_by(concat('; the client of ', f.member, ' had raised ', exception), f.at_micros) as raised
  from measured as m
  join (select * from group_events where change = 'failed') as f on f.group = m.group
  where f.at_micros <= ended
  group by all
)
select longest.*, granted_to, granted_seconds,
  concat(coalesce(group_was, ''), coalesce(loop, ''), coalesce(raised, '')) as raised,
  coalesce(paused, '') as paused, coalesce(hidden_reset != 'earliest', false) as may_be_at_end,
  coalesce(may_last_longer, false) as may_last_longer,
  if(whys is null, 'no limit of Kafka explains it',
    format_string('%.1f s of it are explained: %s', round(seconds - servable_seconds, 1), whys))
    as explained,
  concat(
    if(granted_to is null, '',
      format_string('; for %.1f s of it the coordinator had granted it to %s%s',
        granted_seconds, granted_to, in_state)),
    if(assigned_to is null or coalesce(assigned_to = granted_to, false), '',
      format_string('; for %.1f s of it the assignment of its group gave it to %s',
        assigned_seconds, assigned_to)),
    if(coalesce(not_assigned_seconds, 0) < 1, '',
      format_string('; for %.1f s of it epoch %s of its group had no assignment',
        not_assigned_seconds, epoch))) as by_coordinator
from longest
left join (select group, hidden_reset from planned_groups) using (group)
left join of_unknown_length using (group, at, ended)
left join whys using (group, topic, partition, member, at, ended)
left join granted using (group, topic, partition, member, at, ended)
left join last_assigned using (group, topic, partition, member, at, ended)
left join of_epochs using (group, topic, partition, member, at, ended)
left join paused using (group, topic, partition, member, at, ended)
left join raised using (group, topic, partition, member, at, ended)
left join joined_again using (group, topic, partition, member, at, ended)
left join not_stable using (group, topic, partition, member, at, ended)
where is_longest and seconds > allowed_seconds
