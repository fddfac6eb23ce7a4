/*
id: H5
definition: The last values of a producer to a partition all failed for 30 s or more, or got no
  response.
explanation: >-
  Transactional producers are left out: a fenced one must not make progress. So is the time in which
  the process of the producer's worker did not run.
permitted: a fault held when the last of these values failed; or they got no response for less
  than 30 s, and the worker was killed.
undecided: they got no response for less than 30 s, and no source reports how the worker ended,
  or the scenario failed.
evaluates: each producer and partition.
source: >-
  `delivery.timeout.ms`; `KafkaProducer.close`, `ProducerBatch.done`: each send is completed.
needs: [sends]
optional: [histories]
evaluated: select count(*) as evaluated from each_last
cases:
- permitted: while a fault held
  when: faults > 0
  cause: the last {records} values of {producer} were not acknowledged, over {seconds:.1f} s;
    {unanswered} received no answer
- violation: no fault
  when: seconds >= required_seconds
  cause: the last {records} values of {producer} were not acknowledged, over {seconds:.1f} s;
    {unanswered} received no answer
- permitted: its worker was killed
  when: not ended_by_itself
  cause: the last {records} values of {producer} were not acknowledged, over {seconds:.1f} s;
    {unanswered} received no answer
- violation: no answer
  cause: the last {records} values of {producer} were not acknowledged, over {seconds:.1f} s;
    {unanswered} received no answer
  undecided_if: ended_by_itself is null or has_failed
evidence: producer, records, unanswered, seconds, error, ended_by_itself
*/
with intended as (
  select * from counted_sends where intended_micros is not null and transaction is null
),
each_last as (
  select producer, topic, partition, max(intended_micros) filter (where outcome = 'ok') as last_ok
  from intended
  group by all
),
workers as (
  select worker, min(ended_by_itself) as has_ended from histories group by all
),
unacknowledged as (
  select producer, topic, partition,
    min(intended_micros) as since, max(greatest(intended_micros, answered_micros)) as at,
    sum(records) as records, sum(if(answered_micros is null, records, 0)) as unanswered,
    max(error) as error, min(has_ended) as ended_by_itself, min(worker) as worker
  from intended
  join each_last using (producer, topic, partition)
  left join workers using (worker)
  where outcome != 'ok' and (last_ok is null or intended_micros > last_ok)
  group by all
),
suspended as (
  select u.producer, u.topic, u.partition,
    sum(least(ended_micros, at) - greatest(began_micros, since)) as suspended_micros
  from unacknowledged as u join suspensions as s
    on s.worker = u.worker and began_micros < at and ended_micros > since
  group by all
),
lasting as (
  select unacknowledged.*,
    (at - since - coalesce(suspended_micros, 0)) / {{ micros_per_second }} as seconds
  from unacknowledged left join suspended using (producer, topic, partition)
),
stuck as (
  select *, {{ required_seconds }} as required_seconds
  from lasting
  where seconds >= 30 or unanswered > 0
)
select stuck.*, has_failed, count(injected_micros) as faults
from stuck
left join held_faults on injected_micros <= at and coalesce(ended_micros > at, true)
cross join run_conditions
group by all
