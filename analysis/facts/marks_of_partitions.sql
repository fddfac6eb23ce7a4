/*
about: |
  Marks in the lanes of partitions: their replicas with leader epochs, and the offsets of their
  logs.

  The log end as it was last seen has no lane of its own: it stands in those of groups.
subject: drawn
kept: false
optional: [leadership_states, drawn_lines]
like: marks_of_run
*/
{% set br = "'\n'" %}
{% set roles = "array('leader', 'in the ISR', 'eligible (ELR)', 'out of the ISR')" %}
with states as (
  select topic, partition, m.at_micros, m.until_micros, what, leader, leader_epoch, isr, elr,
    explode(replicas) as broker
  from moments_of_partitions as m join leadership_states as s using (topic, partition)
  where place = s.metadata_offset
),
held as (
  select *, case when broker = leader then 1 when array_contains(isr, broker) then 2
    when array_contains(elr, broker) then 3 else 4 end as role
  from states
),
truncated as (
  select *, concat(who, ' ', what) as words from moments_of_partitions where kind = 'truncation'
),
lines as (
  select *, case when line like 'acknowledged%' then 2 when line like 'high%' then 3
      when line = 'log start' then 4 else 5 end as of,
    cast(nullif(regexp_extract(line, 'broker ([0-9]+)', 1), '') as int) as broker
  from drawn_lines
  where group is null
),
ranked as (
  select *, dense_rank() over (partition by topic, partition, of order by broker, line) as nth
  from lines
)
select role as place, 'leader and replicas' as lane, topic, partition,
  cast(null as string) as group, format_string('broker %s', broker) as row,
  cast(broker as bigint) as nth, 'bar' as kind,
  element_at({{ roles }}, role) as name,
  element_at(array('blue', 'sky', 'orange', 'pale'), role) as color, at_micros, until_micros,
  cast(null as double) as value,
  format_string('broker %s: %s%s%s', broker, element_at({{ roles }}, role), {{ br }}, what) as text,
  if(role = 1, format_string('epoch %s', leader_epoch), '') as label
from held
union all
select 9, 'leader and replicas', topic, partition, null, who, broker, 'x', 'truncates', 'red',
  at_micros, null, null, words, ''
from truncated left semi join held using (topic, partition, broker)
union all
select 100 * of + nth, if(of = 5, '', 'offsets'), topic, partition, null, null, 0, 'line', line,
  case of when 2 then element_at(array('violet', 'pink', 'grey'), 1 + (nth - 1) % 3)
    when 3 then element_at(array('blue', 'orange', 'green', 'violet'), nth) else 'grey' end,
  at_micros, null, offset, '', ''
from ranked
where of != 3 or nth <= 4
union all
select 900, 'offsets', topic, partition, null, null, 0, 'x', 'truncated to', 'red', at_micros, null,
  offset, words, ''
from truncated
