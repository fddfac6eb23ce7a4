/*
about: |
  Fetched commits around a change of the coordinator: older than one that stands, or of no log.

  These are responses to single requests, and what clients returned when asked. A commit stands for
  a fetch if it was acknowledged before the fetch began; of single requests also if it was surely in
  effect. One that the broker that was asked had stored itself, under the epoch in which it led
  then, is no matter of a change: `wrong_fetched_commit` compares those, and finds stable offsets that
  are returned while a transaction has some.
subject: commit_calls
optional: [offset_reads]
columns:
  broker: 'that was asked; null: not known'
  is_stable: whether it asks for stable offsets only
  offset: 'that was returned; -1: none'
  epoch: its leader epoch; null where the response has none
  offsets_partition: of `__consumer_offsets`
  due_offset: the commit that stands; null where the one that was returned is in no log
  due_epoch: the same
  due_micros: when that was stored, or the other one asked for
  is_acknowledged: whether the one that stands was acknowledged before, and its topic was not
    created again since
  led_epoch: 'the newest one in which the broker that was asked may have led by then; null: none'
  led_micros: when it began
  is_deposed: whether that is older than the one in which the commit was stored
  may_be_deposed: whether another one may have answered
  is_compactable: whether compaction may have removed the commit that was returned
*/
-- Within which a broker that was deposed may still answer; no document has a bound.
{% set deposed_micros = 10 * micros_per_second %}
with fetches as (
  select {{ commit_call }}, group, broker, is_stable, began_micros, at_micros, offset,
    if(version >= 5, epoch, null) as epoch, metadata, true as is_request
  from commit_requests left join due_fetched_commits using ({{ commit_call }})
  where api = 'OFFSET_FETCH' and error_code = 0 and not (is_stable and coalesce(is_open, false))
  union all
  select worker, seq, topic, partition, '', group, null, coalesce(is_stable, false), began_micros,
    at_micros, coalesce(offset, -1), nullif(epoch, -1), null, false
  from offset_reads
  where error is null
),
elected as (
  select partition as offsets_partition, epoch, broker as leader, from_micros, until_micros
  from leader_epochs
  where topic = {{ offsets_topic }} and broker >= 0
),
-- What stands: the last commit that was acknowledged, and for single requests the last sure one. Of
-- a broker that was deposed first the last one that was stored by when it led last.
acknowledged as (
  select {{ commit_call }}, max(place) as acked_place,
    max(place) filter (where l.epoch is not null) as own_place
  from fetches as f
  join commit_outcomes using (group, topic, partition)
  join commit_effects as e using (group, topic, partition, place)
  left join elected as l on l.offsets_partition = e.offsets_partition and leader = f.broker
    and l.epoch >= log_epoch and from_micros <= f.at_micros + :clock_micros
  where survives and acked_micros + if(asked_by = worker, 0, :clock_micros) < began_micros
  group by all
),
sure as (
  select {{ commit_call }}, max(place) as sure_place
  from fetches join commit_effects using (group, topic, partition)
  where is_request and sure_micros < began_micros
  group by all
),
returned as (
  select {{ commit_call }}, max(place) filter (where survives) as place,
    max(struct(committed_micros, offsets_partition)) filter (where not survives) as lost
  from fetches join commit_effects using (group, topic, partition)
  where offset = stored_offset and coalesce(epoch = stored_epoch, true)
    and coalesce(metadata = stored_metadata, true) and may_micros <= at_micros
  group by all
),
compared as (
  select f.*, own_place, acked_place, lost, greatest(acked_place, sure_place) as standing_place,
    coalesce(place, if(offset < 0, -1, null)) as place
  from fetches as f
  left join acknowledged using ({{ commit_call }})
  left join sure using ({{ commit_call }})
  left join returned using ({{ commit_call }})
),
older as (
  select c.* except (place, own_place, acked_place, standing_place, lost), e.offsets_partition,
    log_epoch,
    stored_offset as due_offset, stored_epoch as due_epoch, committed_micros as due_micros,
    coalesce(c.place < acked_place and coalesce(r.created_micros < committed_micros, true), false)
      as is_acknowledged
  from compared as c
  join commit_effects as e on (e.group, e.topic, e.partition, e.place)
    = (c.group, c.topic, c.partition, case when c.place < own_place then own_place
      when c.place < acked_place then acked_place else standing_place end)
  left join recreations as r on (r.topic, r.partition) = (c.topic, c.partition)
  where c.place < standing_place
),
-- The epochs under which the commit that stands may have been stored.
stored as (
  select {{ commit_call }}, coalesce(log_epoch, min(e.epoch)) as low,
    coalesce(log_epoch, max(e.epoch)) as high
  from older join elected as e using (offsets_partition)
  where log_epoch is not null or from_micros <= due_micros + :clock_micros
    and coalesce(until_micros > due_micros - :clock_micros, true)
  group by {{ commit_call }}, log_epoch
),
-- What the broker that was asked had led by then, of any broker where it is not known. Its newest
-- epoch is surely own_low or a later one, and at most own_high.
held as (
  select {{ commit_call }}, low,
    max(e.epoch) as own_high, max_by(from_micros, e.epoch) as led_micros,
    max(e.epoch) filter (where from_micros <= began_micros - :clock_micros) as own_low,
    max(e.epoch between low and high
      and coalesce(until_micros > began_micros - :clock_micros, true)) as led_then
  from older as o
  join stored using ({{ commit_call }})
  left join elected as e on e.offsets_partition = o.offsets_partition
    and coalesce(leader = broker, true) and from_micros <= at_micros + :clock_micros
  group by all
),
-- A broker that led before the commit was stored, and was deposed just before the fetch or held by
-- a fault, may answer it to a client.
deposed as (
  select distinct {{ commit_call }}, true as has_deposed
  from older
  join held using ({{ commit_call }})
  join elected as e using (offsets_partition)
  left join held_faults as f on array_contains(f.brokers, leader)
    and injected_micros <= at_micros
    and coalesce(f.ended_micros + {{ deposed_micros }} >= began_micros, true)
  where broker is null and e.epoch < low
    and (e.until_micros + {{ deposed_micros }} >= began_micros or injected_micros is not null)
),
-- Commits that were asked for and not acknowledged.
requested as (
  select group, topic, partition, offset, epoch as asked_epoch, metadata as asked_metadata, outcome,
    began_micros as asked_micros
  from requested_commits
),
asked as (
  select {{ commit_call }}, max(outcome = 'ok') as is_ok, max(asked_micros) as asked_micros
  from compared as c join requested using (group, topic, partition, offset)
  where asked_micros <= at_micros + :clock_micros and c.place is null
    and coalesce(epoch = asked_epoch, true) and coalesce(metadata = asked_metadata, true)
  group by all
),
bounds as (
  select group, topic, partition, min(committed_micros) as oldest_micros,
    max(committed_micros) as newest_micros, max(offsets_partition) as offsets_partition
  from commit_effects
  where survives
  group by all
),
uncommitted as (
  select c.* except (place, own_place, acked_place, standing_place, lost),
    coalesce(lost.offsets_partition, b.offsets_partition) as offsets_partition,
    coalesce(lost.committed_micros, asked_micros) as due_micros,
    lost is null and coalesce(newest_micros + :clock_micros > asked_micros, false)
      and not coalesce(oldest_micros + :clock_micros < asked_micros, false) as is_compactable
  from compared as c
  left join asked using ({{ commit_call }})
  left join bounds as b using (group, topic, partition)
  where c.place is null and (lost is not null or asked_micros is not null)
    and not coalesce(is_ok, false)
)
select {{ commit_call }}, group, broker, is_stable, began_micros, at_micros, offset, epoch,
  offsets_partition, due_offset, due_epoch, due_micros, is_acknowledged, own_high as led_epoch,
  led_micros, coalesce(own_high < low, false) as is_deposed,
  coalesce(has_deposed, broker is not null and own_low < low, false) as may_be_deposed,
  false as is_compactable
from older
join held using ({{ commit_call }})
left join deposed using ({{ commit_call }})
where broker is null or not coalesce(led_then, false)
union all
select {{ commit_call }}, group, broker, is_stable, began_micros, at_micros, offset, epoch,
  offsets_partition, null, null, due_micros, false, null, null, false, false, is_compactable
from uncommitted
