/*
about: |
  Events of a partition that permit a loss of records; those of a group are `jumps_permitted`.

  Elections: see `elections`; of a topic that the plan does not have, such as `__consumer_offsets`,
  each one out of the ISR, since its setting is not known. Deletions: each log start that was
  reported, where the plan or an order of the run deletes records; what lies below it may be gone.
  Creations: the topic was created again; all that it had is gone.
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
elected as (
  select e.*, coalesce(permits, if(deletes is null and is_unclean and kind != 'last known leader',
      'unclean election', null)) as permitted_by
  from present_elections as e left join planned using (topic)
),
deleted as (
  select topic, partition, log_start, min(first_micros) as at_micros, max(reason) as reason
  from log_start_reports
  join planned using (topic)
  left join deletion_orders using (topic)
  where log_start > 0 and is_low and (deletes or ordered_micros <= first_micros)
  group by all
)
select topic, partition, at_micros,
  -- Spark takes a literal as never null, though it is so in a struct that is null.
  if(at_micros is null, null, 'election') as cause, cast(epoch as bigint) as number,
  format_string('%s: broker %s, epoch %s, metadata offset %s',
    permitted_by, leader, epoch, metadata_offset) as words
from elected
where permitted_by is not null
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
