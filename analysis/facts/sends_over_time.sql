/*
about: |
  Sends in 120 bins of `drawn_span`, by the time of their outcome; one without an outcome in the bin
  in which it began.
subject: drawn
columns:
  latency_ms: null where one of its times is not known
*/
with timed as (
  select *, coalesce(answered_micros, intended_micros) as at_micros from sends
)
select cast(least(119, greatest(0, floor(
    120 * (at_micros - begin_micros) / greatest(1, end_micros - begin_micros)))) as int) as bin,
  producer, acks, outcome, error, (answered_micros - intended_micros) / 1000 as latency_ms,
  cast(sum(last_sequence - first_sequence + 1) as bigint) as records
from timed cross join drawn_span
where at_micros is not null
group by all
