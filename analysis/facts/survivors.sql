/*
about: |
  The replicas that speak for their partition at the end: those in its last ISR, or, where that is
  empty, the eligible leader replicas, which have all that is committed (KIP-966).

  A broker that never came back keeps records that the partition has lost, so its replica proves
  nothing. All replicas count where none of either left one, or nothing is known of them.
subject: trace
optional: [log_starts]
regardless: [replica_records]
*/
with replicas as (
  select distinct topic, partition, broker from log_starts
  union all
  -- Every replica has a row in `log_starts`; only a trace without that asks the records.
  select distinct topic, partition, broker from replica_records
  where not exists (select broker from log_starts)
),
isrs as (
  select topic, partition, {{ last_isr }} as isr from leaderships group by all
),
compared as (
  select *, coalesce(array_contains(isr, broker), false) as is_in_sync
  from replicas left join isrs using (topic, partition)
),
marked as (
  select *, max(is_in_sync) over (partition by topic, partition) as any_in_sync from compared
)
select topic, partition, broker from marked where is_in_sync or not any_in_sync
