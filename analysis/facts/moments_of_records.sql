/*
about: |
  What happened to the records of the findings that are asked about, in words: when they were sent
  and acknowledged, and by which leader; and when each member was delivered them, once for each
  time that their offsets rose between these events and its openings.
subject: moments
kept: false
optional: [acknowledgements_of_epochs, sliced_polls, group_events]
columns:
  number: of the finding
  kind: send, acknowledgement or delivery
  worker: whose history has it; null if none does
  seq: its place there
*/
{% set group_of = "number, member, leader_epoch, worker, since_micros" %}
{% set offsets = "if(first_offset = last_offset, format_string('offset %s', first_offset),
      format_string('offsets %s to %s', first_offset, last_offset))" %}
{% macro counted(noun) %}
format_string('%,d {{ noun }}%s', cast(records as bigint), if(records = 1, '', 's')){% endmacro %}
with sent as (
  select number, s.producer, acks, epoch, leader, led_micros, intended_micros, answered_micros,
    greatest(offset, first_asked) as first_offset, least(last_offset, last_asked) as last_offset
  from acknowledgements_of_epochs as s join asked_findings using (topic, partition)
  where offset <= last_asked and last_offset >= first_asked
),
sums as (
  select number, producer, acks, epoch, leader, led_micros, min(intended_micros) as sent_micros,
    min(answered_micros) as first_micros, max(answered_micros) as last_micros,
    sum(last_offset - first_offset + 1) as records, min(first_offset) as first_offset,
    max(last_offset) as last_offset
  from sent
  group by number, producer, acks, epoch, leader, led_micros
),
responses as (
  select *, concat({{ counted("value") }}, ' with acks=', acks) as records_in_words,
    explode(array_distinct(array(first_micros, last_micros))) as at_micros
  from sums
),
events as (
  select number, cast(null as string) as of_member, explode(array(sent_micros, first_micros,
      last_micros)) as event_micros
  from sums
  union all
  select f.number, e.member, e.at_micros
  from group_events as e join asked_findings as f on coalesce(f.of_group = e.group, true)
  where e.change = 'opened'
),
polled as (
  select number, member, leader_epoch, worker, seq, first_place, polled_micros,
    greatest(offset, first_asked) as first_offset, least(last_offset, last_asked) as last_offset
  from sliced_polls as p join asked_findings using (topic, partition)
  where coalesce(of_group = p.group, true) and offset <= last_asked and last_offset >= first_asked
),
given as (
  select p.*, max(event_micros) as since_micros
  from polled as p left join events as e
    on e.number = p.number and coalesce(of_member = member, true) and event_micros <= polled_micros
  group by all
),
compared as (
  select *, if(first_offset > lag(last_offset) over in_order, 0, 1) as goes_back
  from given
  window in_order as (partition by {{ group_of }} order by seq, first_place, first_offset)
),
parted as (
  select *, sum(goes_back) over (
      partition by {{ group_of }} order by seq, first_place, first_offset) as part
  from compared
),
delivered as (
  select {{ group_of }}, min(seq) as seq, min_by(polled_micros, struct(seq, first_place))
      as at_micros, sum(last_offset - first_offset + 1) as records,
    min(first_offset) as first_offset, max(last_offset) as last_offset
  from parted
  group by {{ group_of }}, part
)
select distinct number, sent_micros as at_micros, 'send' as kind, producer as who,
  format_string('sends the first of %s', records_in_words) as what, cast(null as string) as worker,
  cast(null as bigint) as seq
from responses
where sent_micros is not null
union all
select number, at_micros, 'acknowledgement', producer,
  format_string('receives the %s response to %s%s: ok, %s',
    if(at_micros = last_micros, 'last', 'first'), records_in_words,
    if(leader is null, '', format_string(' from broker %s, leader of epoch %s', leader, epoch)),
    {{ offsets }}),
  null, null
from responses
where at_micros is not null
union all
select number, at_micros, 'delivery', member,
  format_string('receives %s of epoch %s, %s', {{ counted("record") }}, leader_epoch,
    {{ offsets }}),
  worker, seq
from delivered
