/*
about: |
  Marks in the lanes of producers: how many records were acknowledged in each of 120 bins of
  `drawn_span`, what was not, and how soon answers came.

  A send is in the bin of its outcome; one without an outcome in that in which it began. Half of the
  records of a bin were answered within the median, 99 % of them within p99.
subject: drawn
optional: [sends]
like: marks_of_run
*/
{% set br = "'\n'" %}
{% set rate = "'producers: acknowledged records per second'" %}
{% set edge = "cast(begin_micros + (end_micros - begin_micros) * bin / 120 as bigint)" %}
with timed as (
  select *, coalesce(answered_micros, intended_micros) as at_micros from sends
),
sent as (
  select cast(least(119, greatest(0, floor(
      120 * (at_micros - begin_micros) / greatest(1, end_micros - begin_micros)))) as int) as bin,
    producer, acks, outcome, error, (answered_micros - intended_micros) / 1000 as latency_ms,
    cast(sum(last_sequence - first_sequence + 1) as bigint) as records
  from timed cross join drawn_span
  where at_micros is not null
  group by all
),
summed as (
  select *, sum(records) over (partition by acks, bin order by latency_ms) as reached,
    sum(records) over (partition by acks, bin) as records_in_bin
  from sent
  where outcome = 'ok' and latency_ms is not null
),
latencies as (
  select acks, bin, min(latency_ms) filter (where reached >= 0.5 * records_in_bin) as median,
    min(latency_ms) filter (where reached >= 0.99 * records_in_bin) as p99
  from summed
  group by acks, bin
),
acknowledged as (
  select producer, bin, sum(records) as records from sent
  where outcome = 'ok' group by producer, bin
),
ranked as (
  select producer, least(7, row_number() over (order by sum(records) desc, producer)) as nth
  from acknowledged group by producer
),
rates as (
  select if(nth > 6, 'other producers', producer) as name, nth, b.bin,
    sum(if(a.bin = b.bin, records, 0)) as records
  from (select explode(sequence(0, 119)) as bin) as b cross join ranked
  join acknowledged as a using (producer)
  group by name, nth, b.bin
),
lost as (
  select *, row_number() over (partition by bin order by producer, outcome, error) as nth
  from (
    select bin, producer, outcome, coalesce(sent.error, 'no error') as error,
      sum(records) as records
    from sent where outcome != 'ok' group by bin, producer, outcome, sent.error)
),
delays as (
  select *, dense_rank() over (order by acks) as nth from latencies
),
of_acks as (
  select bin, explode(array(
      struct(2 * nth as nth, concat('acks=', acks, ', median') as name, median as value),
      struct(2 * nth + 1 as nth, concat('acks=', acks, ', p99') as name, p99 as value))) as one
  from delays where nth <= 3
)
select 60 + nth as place, {{ rate }} as lane, cast(null as string) as topic,
  cast(null as int) as partition, cast(null as string) as group, cast(null as string) as row,
  cast(0 as bigint) as nth, 'line' as kind, name, concat('series ', nth - 1) as color,
  {{ edge }} as at_micros, cast(null as bigint) as until_micros,
  records * 120e6 / greatest(1, end_micros - begin_micros) as value, '' as text, '' as label
from rates cross join drawn_span
union all
select 69, {{ rate }}, null, null, null, null, 0, 'x', 'not acknowledged', 'red',
  {{ edge }}, null, 0,
  array_join(transform(sort_array(collect_list(struct(nth, if(nth > 8, '...', format_string(
    '%s: %s %s, %s', producer, cast(records as bigint), outcome, error)) as words))),
    one -> one.words), {{ br }}), ''
from lost cross join drawn_span where nth <= 9 group by bin, begin_micros, end_micros
union all
select 70 + one.nth, 'producers: latency by acks, in ms', null, null, null, null, 0, 'line',
  one.name, concat('series ', one.nth - 2), {{ edge }}, null, one.value, '', ''
from of_acks cross join drawn_span
