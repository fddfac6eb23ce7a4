/*
id: A2
definition: A record is acknowledged and in the surviving log, and a group has yet to reach it.
explanation: The record is late, not lost. `stuck_consumer` decides whether the group should have
  come further.
evaluates: every acknowledged record, for each group of the plan that reads its topic; records of
  transactions only for groups that read uncommitted values.
source: no configuration bounds how far a group lags.
needs: [sends, log_starts]
evaluated: >-
  select coalesce(sum(records), 0) as evaluated
  from acknowledged_sends join planned_readers using (topic)
  where transaction is null or isolation != 'read_committed'
cases:
- permitted: never began
  when: position is null
  cause: '{records} acknowledged records are in the log; group {group} has not read them yet'
- permitted: yet to come
  cause: '{records} acknowledged records are in the log; group {group} has not read them yet'
evidence: records, position, log_end
*/
with behind as (
  select group, topic, partition, isolation, position, greatest(position, log_start) as from_offset,
    log_end
  from planned_readers
  join log_bounds using (topic)
  left join last_positions using (group, topic, partition)
  where greatest(position, log_start) < log_end
)
select group, topic, partition, position, log_end, min(offset) as offset_first,
  max(last_offset) as offset_last, sum(records) as records, min(answered_micros) as at
from sliced_acknowledged
left semi join surviving_records using (topic, partition, offset, value)
join behind using (topic, partition)
where offset >= from_offset and last_offset < log_end
  and (transaction is null or isolation != 'read_committed')
group by group, topic, partition, position, log_end
