-- One row per story of coordinator_handover: a group, whose coordinator changed once after its last
-- commit. Times are of the observer's clock, durations in ms.
with fetches as (
  select group, broker, partition, is_stable, error_code, offset, began_micros, at_micros
  from wire_calls
  where api = 'OFFSET_FETCH' and topic is not null
),
commits_of_all as (
  select group, max(at_micros) as due_micros, max(asked_offset) as due_offset,
    max(broker) as old_broker
  from wire_calls
  where api = 'OFFSET_COMMIT' and error_code = 0
  group by all
),
asked as (
  select group, min(broker) as broker, min(began_micros) as from_micros,
    max(at_micros) as until_micros
  from fetches
  group by all
),
stories as (
  select *
  from asked
  join commits_of_all using (group)
  join (select distinct group, offsets_partition from committed_offsets) using (group)
),
-- Responses after the commit was acknowledged; those without an error are a coordinator's.
responses as (
  select f.*, due_micros, coalesce(error_code = 0, false) as is_read,
    coalesce(error_code = 0 and offset < due_offset, false) as is_stale,
    min(f.at_micros) filter (where error_code = 0) over (partition by group) as first_micros
  from fetches as f join stories using (group)
  where f.began_micros >= due_micros
),
counted as (
  select group,
    min(at_micros) filter (where error_code = 14) as loading_micros,
    count(*) filter (where not is_stable and is_read) as plain_responses,
    count(*) filter (where not is_stable and is_stale and offset >= 0) as older,
    count(*) filter (where not is_stable and is_stale and offset < 0) as none,
    min(at_micros) filter (where not is_stable and is_stale) as stale_micros,
    min(at_micros) filter (where not is_stable and is_read and not is_stale) as right_micros,
    max(at_micros) filter (where not is_stable and is_stale) as last_stale_micros,
    count(*) filter (where is_stable and is_stale) as stable_stale,
    count(distinct began_micros) filter (where is_stable and error_code in (7, 16)
      and began_micros > first_micros) as refused,
    max(at_micros - began_micros) filter (where is_stable and (is_read or error_code in (7, 16)
      and began_micros > first_micros)) as waited_micros
  from responses
  group by all
),
-- A leader that does not know yet that all of its log is committed has error 5 (KIP-207).
watermarks as (
  select s.group, count(*) filter (where error_code in (5, 78)) as below,
    min(w.at_micros) filter (where error_code = 0) as known_micros
  from stories as s
  join wire_calls as w on w.broker = s.broker and w.partition = s.offsets_partition
  where api = 'LIST_OFFSETS' and w.began_micros between due_micros and until_micros
  group by all
),
cuts as (
  select s.group, min(injected_micros) as cut_micros, min(healed_micros) as healed_micros
  from stories as s join faults on injected_micros between from_micros and until_micros
  where fault = 'cut replication' or fault = 'pause' and not array_contains(brokers, old_broker)
  group by all
),
alone as (
  select s.group, min(l.at_micros) as alone_micros
  from stories as s
  join leaderships as l on l.topic = '__consumer_offsets' and l.partition = s.offsets_partition
  where l.isr = array(s.broker) and l.at_micros between due_micros and until_micros
  group by all
)
select split(group, '-')[0] as until, group,
  cut_micros is null as is_control,
  coalesce(below, 0) > 0 as is_reached,
  plain_responses, older, none, stable_stale, refused,
  (right_micros - stale_micros) div 1000 as window_ms,
  waited_micros div 1000 as waited_ms,
  (known_micros - stale_micros) div 1000 as watermark_ms,
  (healed_micros - stale_micros) div 1000 as healed_ms,
  (alone_micros - stale_micros) div 1000 as alone_ms
from stories
join counted using (group)
left join watermarks using (group)
left join cuts using (group)
left join alone using (group)
order by due_micros
