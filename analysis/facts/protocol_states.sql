/*
about: |
  The protocol's state for a group and a partition that it reads, at each event of either: a change
  of the partition, of its log start, of the group's coordinator, of a member or of a transaction, a
  stored commit, and the last response of a deposed leader. None where a table is missing.

  Events of one source are in its order. What other sources know of that time has two bounds: a
  value is known where everything within them agrees, and is `unknown` otherwise. An event is seen
  after it happened: a commit has itself as the last commit.
subject: coverage
kept: false
columns: |
  group string
  topic string
  partition int
  at_micros bigint
  source string: of the event: controller, commits, members, log starts, leaders or transactions
  leader string: led; none; two: besides the leader, one of an older epoch answered then or later
  isr string: full; shrunk; one; below: fewer than `min.insync.replicas`
  gap string: the partition's leader epoch less the commit's: 0, 1, more; ahead: the commit's is
    newer; none: a commit without an epoch; no commit
  log_start string: against the committed offset: before, at, after; no commit
  record string: the commit's epoch against that of the record before the committed offset: equal,
    lower, higher; none: a commit without an epoch; no commit
  coordinator string: same; moved: the group's partition of `__consumer_offsets` has a newer leader
    epoch than when the commit was stored; none: it has no leader; no commit
  members string: how many of the group's are open: 0, 1 or more
  transaction string: open: one has not ended that wrote to the partition or commits for the group
    on it; none
*/
{% set pair = "group, topic, partition" %}
{% set event = "group, topic, partition, source, place, at_micros" %}
{% set event_of_e = "e.group, e.topic, e.partition, source, place, at_micros" %}
{% set leads = "case when c.leader = -1 then 'none' when c.leader >= 0 then 'led' end" %}
{% macro agreed(value) -%}
coalesce(if(min({{ value }}) = max({{ value }}) and count(*) = count({{ value }}),
  min({{ value }}), null), 'unknown')
{%- endmacro %}
{% macro around(from, until) -%}
{{ from }} <= at_micros + :clock_micros and coalesce({{ until }} > at_micros - :clock_micros, true)
{%- endmacro %}
with states as (
  select topic, partition, metadata_offset, leader, leader_epoch, at_micros as from_micros,
    size(isr) as in_sync, size(replicas) as replicas, min_insync,
    lead(at_micros) over in_log as until_micros, lead(metadata_offset) over in_log as until_place
  from leaderships left join planned_topics using (topic)
  window in_log as (partition by topic, partition order by metadata_offset)
),
pairs as (
  select distinct group, topic, partition
  from planned_readers join states using (topic)
),
coordinators as (
  select group, s.*
  from states as s
  join (select max(partition) + 1 as partitions from states where topic = {{ offsets_topic }})
    on topic = {{ offsets_topic }}
  join planned_groups on partition = hash % partitions
),
answers as (
  select s.topic, s.partition, e.epoch, e.until_micros as from_micros,
    max(coalesce(asked_micros, at_micros)) as until_micros
  from samples as s join leader_epochs as e
    on (e.topic, e.partition, e.epoch, e.broker) = (s.topic, s.partition, s.leader_epoch, s.broker)
  where s.leader = s.broker and e.newer_epoch is not null
  group by all
),
deposed as (
  select * from answers where until_micros > from_micros + :clock_micros
),
stored as (
  select a.group, a.topic, a.partition, a.offsets_partition, a.offsets_offset,
    coalesce(a.marker_micros, a.committed_micros) as from_micros, a.offset, a.committed_epoch,
    a.log_epoch, a.is_tombstone, a.survives,
    case
      when a.committed_epoch = -1 then 'none'
      when c.is_unclear or c.record_epoch is null then 'unknown'
      when a.committed_epoch = c.record_epoch then 'equal'
      when a.committed_epoch < c.record_epoch then 'lower'
      else 'higher'
    end as record
  from all_offsets as a left join stored_commits as c using ({{ commit_key }})
  where a.marker = 'commit' or a.marker is null and coalesce(a.producer_id, -1) < 0
),
-- Before its first commit a group has none.
commits_in_force as (
  select *, lead(from_micros) over (
      partition by {{ pair }} order by from_micros, offsets_offset) as until_micros
  from (
    select {{ pair }}, offsets_offset, from_micros, offset, committed_epoch, log_epoch,
      not is_tombstone as is_commit, survives, record
    from stored left semi join pairs using ({{ pair }})
    union all
    select {{ pair }}, -1, 0, null, null, null, false, true, null from pairs)
),
touched as (
  select producer, transaction, cast(null as string) as group, topic, partition
  from sends
  where transaction is not null
  union
  select producer, transaction, group, topic, partition from offset_commits
),
transactions_of_partitions as (
  select t.topic, t.partition, t.group as of_group, t.producer, t.transaction,
    min(began_micros) filter (where change = 'begun') as maybe_from,
    min(at_micros) filter (where change = 'begun') as sure_from,
    min(began_micros) filter (where step in ('commit', 'abort')) as sure_until,
    min(at_micros) filter (where step in ('commit', 'abort') and outcome = 'ok') as maybe_until
  from touched as t join transactions using (producer, transaction)
  group by all
),
events as (
  select {{ pair }}, 'controller' as source, s.metadata_offset as place, s.from_micros as at_micros
  from pairs join states as s using (topic, partition)
  union
  select p.group, p.topic, p.partition, 'controller', c.metadata_offset, c.from_micros
  from pairs as p join coordinators as c on c.group = p.group
  union
  select {{ pair }}, 'commits', offsets_offset, from_micros
  from stored left semi join pairs using ({{ pair }})
  union
  select p.group, p.topic, p.partition, 'members', 0, e.at_micros
  from pairs as p join group_events as e on e.group = p.group
    and (e.topic = '' or (e.topic, e.partition) = (p.topic, p.partition))
  union
  select {{ pair }}, 'log starts', 0, at_micros
  from pairs join log_start_changes using (topic, partition)
  union
  select {{ pair }}, 'leaders', 0, until_micros
  from pairs join deposed using (topic, partition)
  union
  select p.group, p.topic, p.partition, 'transactions', 0, at_micros
  from pairs as p join (
    select topic, partition, of_group, sure_from as at_micros from transactions_of_partitions
    union
    select topic, partition, of_group, maybe_until from transactions_of_partitions
  ) as t on (t.topic, t.partition) = (p.topic, p.partition)
    and coalesce(t.of_group = p.group, true)
  where at_micros is not null
),
led as (
  select e.*, s.leader, s.leader_epoch,
    case
      when s.leader is null then null
      when s.leader = -1 then 'none'
      when d.topic is null then 'led'
      when source = 'leaders' or at_micros <= d.until_micros - :clock_micros then 'two'
    end as led_by,
    case
      when s.in_sync is null then null
      when s.in_sync = s.replicas then 'full'
      when s.in_sync < least(s.min_insync, s.replicas) then 'below'
      when s.in_sync = 1 then 'one'
      else 'shrunk'
    end as isr
  from events as e
  left join states as s on (s.topic, s.partition) = (e.topic, e.partition)
    and if(source = 'controller',
      s.metadata_offset <= place and coalesce(s.until_place > place, true),
      {{ around("s.from_micros", "s.until_micros") }})
  left join deposed as d on (d.topic, d.partition) = (e.topic, e.partition)
    and d.epoch < s.leader_epoch
    and at_micros <= d.until_micros + if(source = 'leaders', 0, :clock_micros)
),
of_partition as (
  select {{ event }}, {{ agreed("led_by") }} as leader, {{ agreed("isr") }} as isr,
    min(leader_epoch) as epoch_low, max(leader_epoch) as epoch_high
  from led
  group by all
),
coordinated as (
  select {{ event_of_e }}, {{ agreed(leads) }} as leads,
    min(c.leader_epoch) as coordinated_low, max(c.leader_epoch) as coordinated_high
  from events as e left join coordinators as c on c.group = e.group
    and if(source = 'controller',
      c.metadata_offset <= place and coalesce(c.until_place > place, true),
      {{ around("c.from_micros", "c.until_micros") }})
  group by all
),
moments_of_logs as (
  select distinct topic, partition, at_micros from events
),
log_starts_then as (
  select topic, partition, at_micros, start_low, start_high
  from {{ with_log_starts("moments_of_logs") }}
),
committed as (
  select e.*, c.is_commit, offset, committed_epoch, log_epoch, record,
    survives or source = 'commits' as is_sure
  from events as e left join commits_in_force as c
    on (c.group, c.topic, c.partition) = (e.group, e.topic, e.partition)
      and if(source = 'commits', c.offsets_offset = place,
        {{ around("c.from_micros", "c.until_micros") }})
),
compared as (
  select {{ event }},
    case
      when not is_sure then null
      when not is_commit then 'no commit'
      when committed_epoch = -1 then 'none'
      when epoch_low != epoch_high then null
      when epoch_low < committed_epoch then 'ahead'
      when epoch_low - committed_epoch < 2 then cast(epoch_low - committed_epoch as string)
      when epoch_low > committed_epoch then 'more'
    end as gap,
    case
      when not is_sure then null
      when not is_commit then 'no commit'
      when start_low > offset then 'after'
      when start_high < offset then 'before'
      when start_low = offset and start_high = offset then 'at'
    end as log_start,
    if(is_sure, if(is_commit, record, 'no commit'), null) as record,
    case
      when not is_sure then null
      when not is_commit then 'no commit'
      when leads = 'none' then 'none'
      when leads = 'unknown' then null
      when coordinated_low > log_epoch then 'moved'
      when coordinated_high <= log_epoch then 'same'
    end as coordinator
  from committed
  left join of_partition using ({{ event }})
  left join coordinated using ({{ event }})
  left join log_starts_then using (topic, partition, at_micros)
),
of_commit as (
  select {{ event }}, {{ agreed("gap") }} as gap, {{ agreed("log_start") }} as log_start,
    {{ agreed("record") }} as record, {{ agreed("coordinator") }} as coordinator
  from compared
  group by all
),
of_members as (
  select {{ event_of_e }},
    count(case when if(source = 'members', m.from_micros <= at_micros
          and coalesce(m.until_micros > at_micros, true),
        m.from_micros <= at_micros - :clock_micros
          and coalesce(m.until_micros > at_micros + :clock_micros, true)) then 1 end) as sure,
    count(m.group) as possible
  from events as e left join memberships as m on m.group = e.group
    and if(source = 'members',
      m.from_micros <= at_micros and coalesce(m.until_micros > at_micros, true),
      {{ around("m.from_micros", "m.until_micros") }})
  group by all
),
of_transactions as (
  select {{ event_of_e }},
    coalesce(max(t.sure_from <= at_micros - if(source = 'transactions', 0, :clock_micros)
      and coalesce(t.sure_until > at_micros + :clock_micros, true)), false) as is_open,
    count(t.topic) > 0 as may_be_open
  from events as e left join transactions_of_partitions as t
    on (t.topic, t.partition) = (e.topic, e.partition) and coalesce(t.of_group = e.group, true)
      and coalesce(t.maybe_from, 0) <= at_micros + :clock_micros
      and coalesce(t.maybe_until > at_micros
        - if(source = 'transactions', 0, :clock_micros), true)
  group by all
)
select {{ pair }}, at_micros, source, leader, isr, gap, log_start, record, coordinator,
  case
    when sure != possible and (sure < 2 or possible < 2) then 'unknown'
    when possible > 1 then 'more'
    else cast(possible as string)
  end as members,
  case when is_open then 'open' when may_be_open then 'unknown' else 'none' end as transaction
from of_partition
join of_commit using ({{ event }})
join of_members using ({{ event }})
join of_transactions using ({{ event }})
