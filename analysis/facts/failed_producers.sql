/*
about: |
  Errors that sends, and steps of transactions, of a producer ended with: by name, what came of it.

  Of a value that was sent long ago, a fault counts from when it was sent on.
subject: sessions
columns:
  member: the producer
  name: as in the list of errors, `analysis/macros/errors.sql`
  topic: 'null: of a step of a transaction'
  times: how many values and steps
  is_documented: a document permits the error in the state of its time, each time
  may_be_expired: it was fenced, and its transaction was open for 10 s or more, or it is not known
    for how long
  seconds: for how long its calls failed without progress until the last of them
  went_on: a send or step succeeded later
*/
with failures as (
  select *, {{ error_sort("name") }} as sort
  from (
    select *, {{ error_name("error", "error") }} as name
    from (
      select worker, producer, topic, intended_micros as began_micros,
        coalesce(answered_micros, intended_micros) as at_micros, error, records,
        concat('a send to ', topic) as call
      from counted_sends
      where error is not null and outcome != 'ok'
      union all
      select worker, producer, null, began_micros, at_micros, error, 1, concat('the step ', step)
      from transactions
      where error is not null and change in ('fenced', 'failed') and producer != ''))
),
progress as (
  select producer, max(at_micros) as progress_micros
  from (
    select producer, answered_micros as at_micros from sends where outcome = 'ok'
    union all
    select producer, at_micros from transactions where outcome = 'ok' and step != 'begin')
  group by all
),
initialized as (
  select producer, transactional_id, producer_id, at_micros as since
  from transactions
  where step = 'initialize' and outcome != 'failed' and producer != ''
),
opened as (
  select f.producer, f.at_micros, max_by(transactional_id, since) as transactional_id,
    max_by(producer_id, since) as producer_id, max(since) as since
  from (
    select distinct producer, at_micros from failures
    where sort in ('fenced', 'aborted', 'access')) as f
  join initialized as i on i.producer = f.producer and since <= f.at_micros
  group by all
),
-- What raises the epoch of a transactional.id: a newer producer, the story, a request.
fencing as (
  select producer, transactional_id, null as producer_id, since as at_micros from initialized
  union all
  select '', explode(transactional_ids), null, injected_micros from faults
  union all
  select '', null, producer_id, at_micros
  from wire_calls
  where api = 'INIT_PRODUCER_ID' and error_code = 0
),
rivals as (
  select distinct o.producer, o.at_micros, true as has_rival
  from opened as o join fencing as r
    on r.producer != o.producer and r.at_micros <= o.at_micros + :clock_micros
    and r.at_micros > o.since - :clock_micros
    and coalesce(r.transactional_id = o.transactional_id, r.producer_id = o.producer_id)
),
begun as (
  select f.producer, f.at_micros, max(t.at_micros) as begun_micros
  from opened as f join transactions as t on t.producer = f.producer and t.at_micros <= f.at_micros
  where change = 'begun'
  group by all
),
after_faults as (
  select distinct f.producer, f.at_micros, f.began_micros, true as is_after
  from failures as f
  join held_faults on injected_micros <= f.at_micros + :clock_micros
    and coalesce(ended_micros >= f.began_micros - :clock_micros, true)
  where sort = 'wait' and (target_kind != 'client' or target_worker = f.worker)
),
without_access as (
  select distinct o.producer, o.at_micros, true as is_refused
  from failures as o
  left join opened as i on i.producer = o.producer and i.at_micros = o.at_micros
  join acls as a on a.at_micros <= o.at_micros + :clock_micros
    and (permission = 'DENY' or removed_micros <= o.at_micros + :clock_micros)
    and resource_name = case resource_type
      when 'TOPIC' then o.topic
      when 'TRANSACTIONAL_ID' then i.transactional_id end
  where sort = 'access'
),
judged as (
  select f.*,
    {{ is_documented_always }} or case sort
      when 'wait' then coalesce(is_after, false)
      when 'fenced' then coalesce(has_rival, false)
      when 'aborted' then coalesce(has_rival, false)
      when 'access' then coalesce(is_refused, false)
      else false end as is_documented,
    sort = 'fenced' and coalesce(f.at_micros - begun_micros >= {{ 10 * micros_per_second }}, true)
      as may_be_expired
  from failures as f
  left join rivals as r on r.producer = f.producer and r.at_micros = f.at_micros
  left join begun as b on b.producer = f.producer and b.at_micros = f.at_micros
  left join after_faults as h
    on (h.producer, h.at_micros, h.began_micros) = (f.producer, f.at_micros, f.began_micros)
  left join without_access as a on a.producer = f.producer and a.at_micros = f.at_micros
),
last_failures as (
  select f.producer, (max(f.at_micros) - min(f.at_micros)) / {{ micros_per_second }} as seconds
  from failures as f left join progress using (producer)
  where coalesce(at_micros > progress_micros, true)
  group by all
)
select producer as member, topic, name, sort, min(error) as exception, min(call) as call,
  sum(records) as times, min(at_micros) as at_micros, min(is_documented) as is_documented,
  max(coalesce(may_be_expired, false)) as may_be_expired, coalesce(seconds, 0) as seconds,
  coalesce(progress_micros > max(at_micros), false) as went_on
from judged
left join progress using (producer)
left join last_failures using (producer)
group by producer, topic, name, sort, seconds, progress_micros
