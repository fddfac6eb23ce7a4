/*
about: |
  Events of a partition that permit a loss of records; those of a group are `jumps_permitted`.

  Elections: see `elections`. Deletions: each log start that was reported, where the plan or an order
  of the run deletes records; what lies below it may be gone. Creations: the topic was created
  again; all that it had is gone.
subject: permits
columns:
  cause: election, deletion, creation or reset
  number: of an election the leader epoch, of a deletion the new log start, of a creation its
    metadata offset, of a reset the offset to which it led
  words: what it was
*/
with planned as (
  select topic, coalesce(retention_ms is not null or deletes, false) as deletes from planned_topics
),
deleted as (
  select r.topic, r.partition, log_start, min(first_micros) as at_micros, max(reason) as reason
  from log_start_reports as r
  join planned on planned.topic = r.topic
  left join {{ orders_of("r", "log_start", "first_micros") }}
  where log_start > 0 and is_low and (deletes or ordered.topic is not null)
  group by all
)
select topic, partition, at_micros,
  -- Spark takes a literal as never null, though it is so in a struct that is null.
  if(at_micros is null, null, 'election') as cause, cast(epoch as bigint) as number,
  format_string('%s: broker %s, epoch %s, metadata offset %s',
    permits, leader, epoch, metadata_offset) as words
from present_elections
where permits is not null
union all
select topic, partition, at_micros, if(at_micros is null, null, 'deletion'), log_start,
  format_string('%s, which raised the log start to %s', coalesce(reason, 'a deletion'), log_start)
from deleted
union all
select topic, partition, created_micros, if(created_micros is null, null, 'creation'),
  created_offset,
  format_string('the topic was created again at metadata offset %s', created_offset)
from creations
where is_last and creation > 0
