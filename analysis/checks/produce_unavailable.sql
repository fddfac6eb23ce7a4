/*
id: H1
definition: A partition did not respond to a producer for 2 s or more.
explanation: >-
  A wait ends with the partition's next response to the producer: behind that a value waits for
  those that its client sends before it. Waits that overlap are one outage, and so are those within
  10 s of each other between which the producer got no response; those with acks=all are apart. A
  value without a response waited until the run ended, or until the last report of its worker if
  that was killed. A violation if the partition could serve for more than 30 s of an outage: it had
  a leader, faults held no majority of the brokers, clients could reach a broker and, with acks=all,
  enough replicas were in sync. Nor does time count in which the producer's process was stopped.
  If a fault was in force meanwhile, for more than three times the longest request timeout of the
  topic's producers (`request.timeout.ms`, `request_timeout_ms`; of librdkafka the shorter of
  `message.timeout.ms` and `socket.timeout.ms`), where that is longer.
permitted: it could serve for so long or less.
undecided: it could for more than 30 s, a fault was in force, and the request timeout of one of
  the topic's producers is not known.
evaluates: every send.
source: '`min.insync.replicas`; decision 8.'
needs: [sends, leaderships]
optional: [histories]
evaluated: select coalesce(sum(records), 0) as evaluated from intended
cases:
- violation: unavailable
  cause: >-
    operations that waited: {records}; for {seconds:.1f} s in total, {servable_seconds:.1f} s of it
    while the brokers could serve
  permitted_if: servable_seconds <= required_seconds
  undecided_if: may_be_silent and request_ms is null
summary: '{{ summary_of_outages }}'
evidence: >-
  producer, records, unanswered, seconds, servable_seconds, recovery_seconds, required_seconds, needs_insync
*/
with intended as (
  select *, {{ is_for_all }} as needs_insync from counted_sends where intended_micros is not null
),
killed as (
  select worker from histories where not ended_by_itself
),
last_reports as (
  select worker, max(greatest(intended_micros, answered_micros)) as reported_micros
  from intended left semi join killed using (worker)
  group by all
),
answers as (
  select topic, partition, producer, {{ is_for_all }} as needs_insync,
    intended_micros as began_micros, answered_micros
  from acknowledged_sends
),
moments as (
  select topic, partition, producer, needs_insync, intended_micros as at,
    coalesce(answered_micros, reported_micros, run_ended_micros) as ended,
    records, if(answered_micros is null, records, 0) as unanswered
  from intended
  left join last_reports using (worker)
  cross join run_conditions
  union all
  select distinct topic, partition, producer, needs_insync, answered_micros as at,
    cast(null as bigint) as ended, 0 as records, 0 as unanswered
  from answers
),
followed as (
  select *, min(if(ended is null, at, null)) over (
      partition by topic, partition, producer, needs_insync order by at, ended nulls first
      rows between current row and unbounded following) as next_micros
  from moments
),
-- A value may wait for those before it, though the partition responds.
waits as (
  select topic, partition, producer, needs_insync, at, least(ended, next_micros) as ended, records,
    unanswered
  from followed
  where ended is not null
),
waited as (
  select *
  from {{ outages_of("waits", "topic, partition, producer, needs_insync", answers="answers") }}
),
outages as (
  select * from {{ with_timeouts("waited", "planned_topics", "topic") }}
),
stopped as (
  select producer, began_micros as since, ended_micros as until
  from suspensions join (select distinct producer, worker from intended) using (worker)
),
excuses as (
  select * from {{ with_excuses("outages") }}
  union all
  select outages.*, since, until from outages join stopped on stopped.producer = outages.producer
)
select * from {{ with_service("outages", "excuses", "topic, partition, producer, needs_insync") }}
