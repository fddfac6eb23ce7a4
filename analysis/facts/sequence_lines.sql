/*
about: 'Who has values where: one row for consecutive values of one shift.'
subject: slices
columns:
  shift: offset less sequence; null without offset
regardless: [sends, polls, replica_records, cut_records]
*/
with ranges as (
  select producer, topic, partition,
    if({{ is_acknowledged }}, first_offset - first_sequence, null) as shift, first_sequence,
    last_sequence, value
  from sends
  union all
  select producer, topic, partition, first_offset - first_sequence, first_sequence, last_sequence,
    value
  from polls
  union all
  select producer, topic, partition, first_offset - first_sequence, first_sequence, last_sequence,
    value
  from replica_records
  union all
  select producer, topic, partition, first_offset - first_sequence, first_sequence, last_sequence,
    value
  from cut_records
),
in_turn as (
  select *, if(first_sequence <= 1 + max(last_sequence) over (
      partition by producer, topic, partition, shift order by first_sequence, last_sequence
      rows between unbounded preceding and 1 preceding), 0, 1) as is_new
  from (select distinct * from ranges where producer is not null and value is null)
),
numbered as (
  select *, sum(is_new) over (
    partition by producer, topic, partition, shift order by first_sequence, last_sequence) as line
  from in_turn
)
select producer, topic, partition, shift, min(first_sequence) as first_sequence,
  max(last_sequence) as last_sequence
from numbered
group by producer, topic, partition, shift, line
