/*
about: |
  Times in which nothing was committed of a partition, though a guest that commits by itself was
  polled and delivered records of it.

  They last for three intervals or more, in which it was delivered three times the records that lie
  between two commits; from the first delivery that is not committed to the last one before the next
  commit. The interval and these records are the medians of the group's commits; of a group with
  less than four on each partition they are not known. A transaction's offsets are left out.
subject: commits
optional: [poll_spans]
columns:
  at: micros
  ended: micros
  interval_micros: between two commits of the group
*/
with committed as (
  select group, topic, partition, offset, {{ in_log }} as place, committed_micros,
    lag(committed_micros) over in_order as previous_micros, lag(offset) over in_order as previous,
    coalesce(lead(committed_micros) over in_order, {{ forever }}) as next_micros
  from client_offsets
  left semi join (
    select group from planned_groups where client = 'guest' and manner in ('auto', 'periodic'))
    using (group)
  where not is_tombstone and coalesce(producer_id, -1) < 0
  window in_order as (partition by group, topic, partition order by {{ in_log }})
),
usual as (
  select group, median(committed_micros - previous_micros) as interval_micros,
    median(greatest(offset - previous, 1)) as records_each
  from committed
  where previous_micros is not null
  group by all
  having count(*) >= 3
),
delivered as (
  select group, topic, partition, d.member, since, at_micros, last_offset, records
  from deliveries as d join polled_times as p using (group)
  where d.member = p.member and at_micros between since and until
)
select group, member, topic, partition, min(at_micros) as at, max(at_micros) as ended,
  interval_micros
from committed
join usual using (group)
join delivered using (group, topic, partition)
where at_micros > committed_micros + :clock_micros and at_micros < next_micros - :clock_micros
  and last_offset >= offset
group by group, member, topic, partition, since, place, interval_micros, records_each
having max(at_micros) - min(at_micros) >= 3 * interval_micros and sum(records) >= 3 * records_each
