/*
id: A9
definition: A member was delivered a record below the log start.
explanation: >-
  A log start counts up to the log start of the end: a new leader may have deleted less, and serve
  what it has.
permitted: >-
  the member came to own the partition before the log start passed the record: it may have fetched
  the record before. With a `client.rack` it may have fetched it from a follower, which hears of
  the log start later, up to 30 s (`replica.lag.time.max.ms`).
evaluates: deliveries of partitions whose leader reported its log start to the observer.
source: >-
  `ReplicaManager.fetch`: an offset below the log start is answered with OFFSET_OUT_OF_RANGE;
  KIP-392.
needs: [polls, samples]
evaluated: >-
  select coalesce(sum(last_offset - first_offset + 1), 0) as evaluated
  from session_runs
  left semi join (select topic, partition from raised where log_start >= 0) using (topic, partition)
exercised: expired_logs
cases:
- violation: fetched below the log start
  when: is_after
  cause: >-
    {member} received {records} records from offset {first_offset} on, below log start {log_start}
- permitted: may have been fetched before
  cause: >-
    {member} received {records} records from offset {first_offset} on, below log start {log_start}
evidence: member, records, log_start, passed_micros
place:
  offset_first: first_offset
  at: at_micros
*/
with raised as (
  select topic, partition, least(log_start_offset, log_start) as log_start,
    min(at_micros) + :clock_micros as at_micros
  from samples
  left join log_bounds using (topic, partition)
  left anti join created_again using (topic, partition)
  where broker = leader
  group by all
),
in_turn as (
  select *, max(raised_to) over (partition by topic, partition order by at_micros) as log_start
  from (
    select group, member, topic, partition, first_offset, last_offset, at_micros,
      cast(null as bigint) as raised_to
    from session_runs
    union all
    select null, null, topic, partition, null, null, at_micros, log_start from raised)
),
below as (
  select group, member, topic, partition, first_offset, last_offset, i.at_micros, i.log_start,
    min(r.at_micros) as passed_micros
  from in_turn as i join raised as r using (topic, partition)
  where first_offset < i.log_start and r.log_start > first_offset
  group by all
),
owned as (
  select below.*, max(owned_micros) filter (where owned_micros <= at_micros) as owned_micros
  from below left join ownerships using (group, member, topic, partition)
  group by all
)
select *, least(last_offset + 1, log_start) - first_offset as records,
  -- A group with a rack may read from a follower, which hears of a log start within 30 s.
  coalesce(owned_micros > passed_micros
    + if(has_rack, 30 * {{ micros_per_second }}, 0), false) as is_after
from owned left join planned_groups using (group)
