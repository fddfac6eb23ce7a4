/*
id: H8
definition: A client reported an error to its application, by a poll, a commit, a send or a step
  of a transaction.
explanation: >-
  It is judged by what came of it. A client went on if the member was delivered a record, committed
  or reached the log ends afterwards, or if a send or a step of the producer succeeded; or, after an
  error of waiting or a refusal by its group, if it was polled for 10 s without another error. It
  ended if its process exited, if the error is one after which a client is of no use, such as
  librdkafka's `_FATAL`, or if each of its calls failed with a known error for 10 s, and for 30 s
  where the error is one of waiting. The names are those of Java, kafka-python, aiokafka, librdkafka
  and what guests have, in one list with their documents (`analysis/macros/errors.sql`). What the
  story or a fault did is not held against a client: a wakeup, a kill of its process, an entry that
  was removed.
permitted: >-
  a document permits the error in the state of its time. The position was out of the log or there
  was none, with `auto.offset.reset=none`. Within 60 s before a refusal by the group another of its
  members was opened, closed or assigned partitions, or lost some; or the member itself lost some or
  was assigned some again, or was not polled for `max.poll.interval.ms`. A fault was in force within
  60 s before a timeout, which is as long as a call waits by default; not one on the client of
  another group. The access control entry that the client needs, READ on the topic or its group, was
  removed, or one that denies was added. Of a static member (KIP-345) another process with its
  group.instance.id was there: with the classic protocol a newer one, with the consumer protocol an
  older one, which was open, or was killed no more than 45 s before. There the older one is fenced
  when the newer one has partitions. A producer was fenced after another one had initialised its
  transactional.id, or the story had fenced it; it waited for a response while a fault held; or what
  it was given to send was too large.
undecided: >-
  no list has the name; or access was taken away and given again, and its broker may not have
  applied that; or the error is a timeout or a refusal, no cause of it is on record, and the member
  was not asked again for long enough; or the client lacks a codec, which its application has to
  install; or a producer was fenced without another one, and its transaction was open for 10 s or
  more, so that it may have expired.
evaluates: every member, and every producer.
source: >-
  Javadoc of KafkaConsumer; KIP-320, KIP-345, KIP-848; librdkafka, INTRODUCTION.md, Fatal consumer
  errors; AclEntry, AclPermissionType: DENY comes first; Javadoc of KafkaProducer; KIP-98, KIP-360.
needs: []
evaluated: >-
  select count(*) as evaluated from (
    select distinct member from group_events
    union all select distinct producer from sends
    union all select distinct producer from transactions
    left anti join sends using (producer) where producer != '')
optional: [group_events, sends, transactions, deliveries, commits, poll_spans, faults_on_members,
  held_faults, acls, failed_producers]
cases:
- permitted: raised, then went on
  when: went_on
  cause: the client raised {exception}{often}, and went on{said}
- permitted: documented
  when: is_documented
  cause: the client raised {exception}{often} ({document}){said}
- permitted: raised, then polled on
  when: sort in ('wait', 'rebalance') and polled_seconds >= 10
  cause: the client raised {exception}{often}, and was polled for {polled_seconds:.1f} s without
    another error ({document}){said}
- undecided: without the codec
  when: sort = 'codec'
  cause: the client raised {exception}{often}, and was delivered nothing
    afterwards ({document}){said}
- undecided: its transaction may have expired
  when: may_be_expired
  cause: the producer raised {exception}{often} ({document}), no other one had its transactional.id,
    and its transaction may have expired{said}
- violation: ended
  when: is_end
  cause: the client raised {exception}{often}, which ended it, {though} ({document}){said}
- undecided: with access again
  when: is_regained
  cause: the client raised {exception}{often} after its access was taken away and given again;
    whether its broker had applied that is not known{said}
- undecided: unknown error
  when: sort is null
  cause: the client raised {exception}{often}, which no list of errors has;
    what came of it is not known{said}
- violation: each later call failed
  when: is_failing
  cause: the client raised {exception}{often}, and each later call failed, for
    {seconds:.1f} s{said}
- undecided: without a cause
  cause: the client raised {exception}{often}; {blame}{said}
evidence: member, exception, message, times, seconds, sort
place:
  at: at_micros
*/
with failures as (
  select *, {{ error_sort("name") }} as sort
  from (
    select worker, group, member, nullif(topic, '') as topic, nullif(partition, -1) as partition,
      seq, at_micros, coalesce(exception, 'an error without a name') as exception, message,
      {{ error_name("exception", "message") }} as name
    from group_events
    where change = 'failed'
    union all
    select distinct worker, group, member, null, null, seq, committed_micros, error,
      'returned by a commit', {{ error_name("error", "error") }}
    from commits
    where error is not null and outcome in ('failed', 'unknown'))
),
progress as (
  select member, max(seq) as progress_seq
  from (
    select member, seq from deliveries
    union all
    select member, seq from commits where outcome = 'ok'
    union all
    select member, seq from group_events where change = 'caught_up')
  group by all
),
members as (
  select worker, group, member, regexp_extract(member, '[.]([0-9]+)$', 1) as number,
    min(at_micros) as opened_micros, min(if(change = 'closed', at_micros, null)) as closed_micros,
    min(if(change = 'assigned', at_micros, null)) as assigned_micros
  from group_events
  group by all
),
killed as (
  select member, min(injected_micros) as killed_micros
  from faults_on_members
  where fault = 'kill'
  group by all
),
-- Processes that had the group.instance.id of a member when it failed.
rivals as (
  select f.member, f.seq,
    max(o.opened_micros >= m.opened_micros
      and (client != 'java-consumer' or o.assigned_micros <= f.at_micros)) as is_replaced,
    max(o.opened_micros <= m.opened_micros
      and coalesce(o.closed_micros > f.at_micros, true)
      and coalesce(killed_micros + {{ 45 * micros_per_second }} > f.at_micros, true)) as is_refused
  from failures as f
  join members as m using (member)
  join planned_groups as g on g.group = f.group
  join members as o on o.group = f.group and o.member != f.member
  left join killed as k on k.member = o.member
  where sort in ('replaced', 'refused') and o.opened_micros <= f.at_micros
    and (o.number = m.number or has_one_instance) and (is_static or client = 'guest')
  group by all
),
-- Pauses of a member's polls: when they were as long as max.poll.interval.ms, and their end.
pauses as (
  select member, ended_micros + poll_interval_ms * {{ micros_per_second }} / 1000 as late_micros,
    lead(began_micros) over (partition by member order by began_micros) as until
  from poll_spans join planned_groups using (group)
),
after_changes as (
  select f.member, f.seq
  from failures as f
  join group_events as e on e.group = f.group
  join members as m on m.member = f.member
  where sort = 'rebalance' and change in ('opened', 'closed', 'assigned', 'revoked', 'lost')
    and (e.member != f.member or change in ('revoked', 'lost')
      or change = 'assigned' and e.at_micros > assigned_micros)
    and e.at_micros between f.at_micros - {{ 60 * micros_per_second }}
      and f.at_micros + {{ micros_per_second }}
  union
  select f.member, f.seq
  from failures as f join pauses on pauses.member = f.member and late_micros <= f.at_micros
  where sort = 'rebalance'
    and coalesce(until >= greatest(late_micros, f.at_micros - {{ 60 * micros_per_second }}), true)
),
after_faults as (
  select distinct f.member, seq
  from failures as f
  join held_faults on injected_micros <= at_micros + :clock_micros
  left join members as m on m.group = f.group and target = concat('client:', m.worker)
  where sort in ('wait', 'rebalance') and (target_kind != 'client' or m.member is not null)
    and coalesce(ended_micros, at_micros)
      >= at_micros - {{ 60 * micros_per_second }} - :clock_micros
),
-- The last fault that began within 60 s before.
blamed as (
  select f.member, seq, max_by(concat('fault ', fault, ' of ', target, ' began ', format_string(
      '%.1f s before', (at_micros - injected_micros) / {{ micros_per_second }})), injected_micros)
      as blame
  from failures as f join held_faults
    on injected_micros between at_micros - {{ 60 * micros_per_second }} and at_micros
  group by all
),
-- Entries for what was refused, of any principal: whose the client is is not known.
{% set has_no_read = "resource_type not in ('TOPIC', 'GROUP')" %}
entries as (
  select f.member, f.seq, f.at_micros as failed_micros, a.*
  from failures as f
  join acls as a on startswith(name, lower(replace(resource_type, '_', '')))
    or name = 'authorization'
  left join planned_readers as r on r.group = f.group
  where sort = 'access' and a.at_micros <= f.at_micros + :clock_micros
    and ({{ has_no_read }} or resource_name in ('*', if(resource_type = 'GROUP', f.group, r.topic))
      or pattern_type = 'PREFIXED'
        and startswith(if(resource_type = 'GROUP', f.group, r.topic), resource_name))
    and ({{ has_no_read }} or operation in ('READ', 'ALL')
      or operation = 'DESCRIBE' and permission = 'DENY')
),
accesses as (
  select member, seq, principal, max(permission = 'DENY') as was_denied,
    max(permission = 'DENY'
      and coalesce(removed_micros + :clock_micros >= failed_micros, true)) as is_denied,
    max(removed_micros) filter (where permission = 'ALLOW'
      and removed_micros <= failed_micros + :clock_micros) as lost_micros,
    min(at_micros) filter (where permission = 'ALLOW'
      and at_micros <= failed_micros - :clock_micros
      and coalesce(removed_micros > failed_micros + :clock_micros, true)) as given_micros
  from entries
  group by all
),
without_access as (
  select member, seq, max(is_denied or lost_micros is not null and given_micros is null) as is_lost,
    max(was_denied or coalesce(given_micros > lost_micros, false)) as is_regained
  from accesses
  group by all
),
judged as (
  select f.*,
    {{ is_documented_always }} or case sort
      when 'loss' then coalesce(message rlike 'failOnDataLoss', false)
      when 'reset' then coalesce(g.reset = 'none', false)
      when 'replaced' then coalesce(is_replaced, false)
      when 'refused' then coalesce(is_refused, false)
      when 'access' then coalesce(is_lost, false)
      when 'exit' then coalesce(killed_micros <= f.at_micros + :clock_micros, false)
      when 'rebalance' then c.seq is not null or h.seq is not null
      when 'wait' then h.seq is not null
      else false end as is_documented,
    coalesce(is_regained, false) as is_regained, blame
  from failures as f
  left join planned_groups as g using (group)
  left join rivals using (member, seq)
  left join killed using (member)
  left join after_changes as c using (member, seq)
  left join after_faults as h using (member, seq)
  left join without_access using (member, seq)
  left join blamed using (member, seq)
),
-- For how long a member's calls failed without progress.
last_failures as (
  select member, max(at_micros) as failed_micros,
    (max(at_micros) - min(at_micros)) / {{ micros_per_second }} as seconds
  from failures left join progress using (member)
  where coalesce(seq > progress_seq, true)
  group by all
),
-- Until when it was polled.
polled as (
  select member, max(ended_micros) as polled_micros from poll_spans group by all
),
raised as (
  select group, member, topic, partition, name, sort, min_by(exception, seq) as exception,
    min_by(message, seq) as message, max(seq) as last_seq, min(is_documented) as is_documented,
    max(is_regained) as is_regained, min_by(blame, seq) as blame, count(*) as times,
    min(at_micros) as at_micros
  from judged
  group by group, member, topic, partition, name, sort
)
select group, member, topic, partition, name, sort, exception, message, times, at_micros,
  is_documented, is_regained, false as may_be_expired, coalesce(seconds, 0) as seconds,
  coalesce(polled_micros - failed_micros, 0) / {{ micros_per_second }} as polled_seconds,
  {{ error_document("sort") }} as document,
  case sort
    when 'reset' then concat('with auto.offset.reset=', coalesce(reset, 'unknown'))
    when 'exit' then 'with its process'
    when 'fatal' then 'as it can not go on'
    else 'though no other process of its group had its group.instance.id then'
  end as though,
  concat(coalesce(blame, 'nothing on record explains it'),
    ', and it was delivered nothing and committed nothing afterwards') as blame,
  coalesce(progress_seq > last_seq, false) as went_on,
  coalesce(sort in ('reset', 'replaced', 'refused', 'exit', 'fatal'), false) as is_end,
  coalesce(seconds >= if(sort in ('wait', 'rebalance', 'access'), 30, 10), false)
    as is_failing,
  if(times > 1, concat(' ', cast(times as string), ' times'), '') as often,
  coalesce(concat(': ', nullif(replace(message, chr(10), ' '), '')), '') as said
from raised
left join progress using (member)
left join last_failures using (member)
left join polled using (member)
left join planned_groups using (group)
union all
select null, member, topic, null, name, sort, exception, call, times, at_micros, is_documented,
  false, may_be_expired, seconds, 0, {{ error_document("sort") }},
  if(sort = 'fatal', 'as it can not go on',
    'though no other producer had its transactional.id then'),
  'nothing on record explains it, and no send or step succeeded afterwards', went_on,
  coalesce(sort in ('fenced', 'fatal'), false),
  coalesce(seconds >= if(sort in ('wait', 'access', 'aborted'), 30, 10), false),
  if(times > 1, concat(' ', cast(times as string), ' times'), ''), concat(': by ', call)
from failed_producers
