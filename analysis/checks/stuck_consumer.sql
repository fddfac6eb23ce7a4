/*
id: H4
definition: A member polled and did not reach the log end before the timeout of its command; or it
  polled for 30 s, and was delivered nothing of a partition that it owns.
explanation: >-
  A member that reads on is known to poll, and to be delivered nothing of any partition, where it
  commits twice within 5 s without a delivery in between. Times are left out in which a fault was
  in force, or a transaction open at its position. Of its partitions, those count where a record
  lay at its position or above that it was to be delivered: below the high watermark that the
  leader reported last, or delivered to another group or acknowledged with acks=all by then; for a
  read_committed group of no aborted transaction. A fault that takes an instant, such as an
  election or a rebalance, is over when it is proved.
permitted: a fault held at the timeout; or one that takes an instant was over for no more than 30
  s, or 45 s for a member without a partition; or the process of the member's worker had run again
  for no longer than that, after it was stopped; or a transaction was open at the member's position,
  or had ended and has no marker in the log, and the group has `isolation.level=read_committed`
  (`hanging_transaction` evaluates both transactions); or an administrator had set the position
  with an epoch that no leader had; or the member had no partition, and other members of its group,
  which were there then or later, owned each partition of the topic.
undecided: at a read to the log end, no leader reported a high watermark, and nothing else proves
  that the record was below it; or the application had paused the partition before it was assigned
  again, and the client, which is not Java's, documents nothing about that.
evaluates: each read to the log end, which ends as caught_up, stalled or failed; and each partition
  of which a member that read on was delivered nothing.
source: >-
  KIP-98: read_committed ends at the last stable offset; KIP-320; `request.timeout.ms`;
  `session.timeout.ms`; Javadoc of KafkaConsumer.pause: a rebalance does not keep a pause.
needs: [group_events]
evaluated: >-
  select (select count(*) from group_events where change in ('caught_up', 'stalled', 'failed'))
    + (select count(*) from unfetched) as evaluated
cases:
- undecided: paused before
  cause: the member was delivered nothing of the partition, which its application had paused before
    it was assigned again, and not resumed; whether the pause goes on is documented of Java's
    consumer only, where it ends
- violation: never fetched
  cause: the member polled for {seconds:.1f} s and was delivered nothing of the partition since it
    was assigned, though records lay at its position {position} or above{raised}
- violation: no longer fetched
  cause: the member polled for {seconds:.1f} s and was delivered nothing more of the partition,
    though records lay at its position {position} or above{raised}
- permitted: no partition was left
  cause: the member was assigned no partition; other members of its group owned each of the topic
- violation: '{kind}'
  when: partition < 0
  cause: the member was assigned no partition
  permitted_if: kind != 'no fault'
- violation: '{kind}'
  when: position is null
  cause: the member had no position to read from{raised}
  permitted_if: kind != 'no fault'
- permitted: at an epoch of an administrator
  cause: the member stopped at {position}, which an administrator had set with epoch {set_epoch};
    no leader had that epoch
- permitted: at a transaction without a marker
  cause: the member stopped at {position}; the transaction that began at {open_at} has no marker in
    the log, though {closed_by}{lost_by}; the log ends at {log_end}
- permitted: at an open transaction
  cause: the member stopped at {position}; the transaction that began at {open_at} was open; the
    log ends at {log_end}
- permitted: while a fault held
  cause: the member stopped at {position}; the log ends at {log_end}
- permitted: soon after a fault
  cause: the member stopped at {position}; the log ends at {log_end}
- permitted: soon after its process was stopped
  cause: the member stopped at {position}; the process of its worker had not run for a time; the log
    ends at {log_end}
- violation: no fault
  cause: the member stopped at {position}; the log ends at {log_end}
  undecided_if: not is_required or set_epoch is not null
evidence: member, position, log_end, open_at, closed_by, set_epoch, seconds
place:
  offset_first: position
  at: at_micros
*/
{# After a change, Kafka's own limits allow a member so long; one without a partition waits for the
   session.timeout.ms of a member of its group that was killed. #}
{% set allowed_micros = "if(partition < 0, 45, 30) * " ~ micros_per_second %}
with reported as (
  select * from standstills where is_reported
),
excused as (
  select member, topic, partition, seq,
    max(coalesce(ended_micros > at_micros, true)) as is_held,
    max(is_instant and at_micros between ended_micros
      and ended_micros + {{ allowed_micros }}) as is_recent
  from reported join held_faults on injected_micros <= at_micros
  group by all
),
suspended as (
  select member, seq, true as is_suspended
  from reported
  join (select distinct member, worker from group_events) using (member)
  join suspensions using (worker)
  where at_micros between began_micros
    and ended_micros + {{ allowed_micros }}
  group by all
),
-- A group may have more members than its topic has partitions. A member of which nothing was seen
-- any more may have been killed.
seen_last as (
  select member, max(at_micros) as seen_micros
  from (
    select member, at_micros from group_events
    union all
    select member, at_micros from deliveries)
  group by all
),
idle as (
  select s.member, s.seq, count(distinct o.partition) = max(partitions) as is_idle
  from reported as s
  join planned_readers as r using (group)
  join (select topic, count(distinct partition) as partitions from leaderships group by all) as t
    on t.topic = r.topic
  join reported_assignments as o on (o.group, o.topic) = (s.group, r.topic)
  join seen_last as l on l.member = o.member
  where s.partition < 0 and o.member != s.member and o.from_micros <= s.at_micros
    and coalesce(o.left_micros >= s.at_micros, true) and seen_micros >= s.at_micros
  group by all
),
-- A client waits for metadata of an epoch that no leader had yet (KIP-320).
set_ahead as (
  select member, topic, partition, s.at_micros, max(committed_epoch) as set_epoch,
    max(administered.is_reported) as is_set_by_administrator
  from standstills as s
  join administered using (group, topic, partition)
  join leaderships as l using (topic, partition)
  where committed_micros <= s.at_micros and l.at_micros <= s.at_micros
    and coalesce(position = offset, true)
  group by all
  having max(committed_epoch) > max(leader_epoch)
),
raised as (
  select member, topic, partition, s.at_micros,
    max_by(concat('; its client had raised ', f.exception, coalesce(concat(': ', f.message), '')),
      f.at_micros) as raised
  from standstills as s
  join (
    select member, at_micros, exception, message from group_events where change = 'failed') as f
    using (member)
  where f.at_micros <= s.at_micros
  group by all
),
paused as (
  select member, topic, partition, s.at_micros, true as is_paused
  from standstills as s
  join kept_pauses as k using (member, topic, partition)
  where k.at_micros <= s.at_micros and coalesce(resumed_micros > s.at_micros, true)
    and not is_of_java
  group by all
),
at_transactions as (
  select * except (at_micros), at_micros as asked_micros from stalls_at_transactions
),
below_records as (
  select * except (at_micros), at_micros as asked_micros from stalls_below_records
),
stalls as (
  select * except (raised), coalesce(raised, '') as raised
  from standstills
  left join at_transactions using (group, topic, partition, position, asked_micros)
  left join below_records using (group, topic, partition, position, asked_micros)
  left join set_ahead using (member, topic, partition, at_micros)
  left join raised using (member, topic, partition, at_micros)
  left join paused using (member, topic, partition, at_micros)
  left join log_bounds using (topic, partition)
),
unfetched as (
  select member, group, topic, partition, position, max(at_micros) as at_micros, log_end,
    cast(null as bigint) as open_at, cast(null as string) as closed_by,
    cast(null as string) as lost_by, cast(null as int) as set_epoch,
    true as is_required,
    case
      when max(is_paused) then 'paused before'
      when is_first then 'never fetched'
      else 'no longer fetched'
    end as kind,
    max(raised) as raised, (max(at_micros) - since_micros) / {{ micros_per_second }} as seconds
  from stalls
  where not is_reported and is_required and open_at is null and set_epoch is null
  group by member, group, topic, partition, position, log_end, is_first, since_micros
)
select member, group, topic, partition, position, at_micros, log_end, open_at, closed_by,
  coalesce(concat(' (', permit.words, ')'), '') as lost_by, set_epoch, is_required,
  case
    when is_paused then 'paused before'
    when is_idle then 'no partition was left'
    when is_held then 'while a fault held'
    when closed_by is not null then 'at a transaction without a marker'
    when open_at is not null then 'at an open transaction'
    when is_set_by_administrator then 'at an epoch of an administrator'
    when is_recent then 'soon after a fault'
    when is_suspended then 'soon after its process was stopped'
    else 'no fault'
  end as kind,
  raised, cast(null as double) as seconds
from stalls
left join excused using (member, topic, partition, seq)
left join suspended using (member, seq)
left join idle using (member, seq)
where is_reported and (position is null or open_at is not null or is_required is not null)
union all
select * from unfetched
