/*
about: |
  Times of 2 s or more in which a member was polled, and nobody owned a partition of its group
  (`readership`); with the records that waited.

  Also the last times in which an owner was polled, and was delivered nothing of its partition any
  more. These, and those of a guest that shows no assignments, begin after the last delivery. The
  position is where the next owner goes on at the least: behind what was delivered and survives, or
  at the group's commit, unless that is beyond the log end.
subject: assignments
columns:
  is_held: the member owned the partition, and had neither paused it nor set its position
  at: micros, since when records waited, too; null where none did
  ended: micros, when that, or the polls, ended
  position: 'null: not known'
  records: that were acknowledged by then, and lie there or above
  is_open: the group reads committed values, and a transaction of the partition has no end
*/
with last_deliveries as (
  select group, topic, partition, max(at_micros) as at_micros from deliveries group by all
),
last_polls as (
  select group, member, max(since) as since, max(until) as until from polled_times group by all
),
owners as (
  select group, topic, partition, member, max(at_micros) as at_micros,
    max(position) filter (where change = 'assigned') as position
  from group_events
  where change in ('assigned', 'revoked', 'lost', 'paused', 'resumed', 'sought')
  group by all
  having max_by(change, seq) in ('assigned', 'resumed') and count_if(change = 'sought') = 0
),
polled as (
  select r.group, r.topic, r.partition, p.member, is_shown, is_stored, false as is_held,
    null as owned_position,
    greatest(r.since, p.since, if(is_shown, null, d.at_micros)) as since,
    least(r.until, p.until) as ended
  from readership as r
  join polled_times as p on p.group = r.group
  left join last_deliveries as d
    on (d.group, d.topic, d.partition) = (r.group, r.topic, r.partition)
  where owners = 0
  union all
  select group, topic, partition, member, true, true, true, o.position,
    greatest(p.since, o.at_micros, d.at_micros), until
  from owners as o join last_polls as p using (group, member)
  left semi join readership using (group, topic, partition)
  left join last_deliveries as d using (group, topic, partition)
),
unowned as (
  select * from polled where ended - since >= {{ 2 * micros_per_second }}
),
-- Where the group's next owner goes on, at the least. A commit beyond the log end is reset.
delivered as (
  select group, topic, partition, u.member, since, max(last_offset) + 1 as position
  from unowned as u join sliced_polls using (group, topic, partition)
  left semi join surviving_records using (topic, partition, offset, value)
  where polled_micros <= ended
  group by all
),
committed as (
  select group, topic, partition, u.member, since, max(offset) as position
  from unowned as u join present_offsets using (group, topic, partition)
  join log_bounds using (topic, partition)
  where committed_micros <= ended and offset <= log_end
  group by all
),
placed as (
  select group, topic, partition, member, since, ended, is_shown, is_stored, is_held,
    greatest(d.position, c.position, owned_position,
      if(reset = 'earliest' or d.position is not null or c.position is not null, log_start, null))
      as position
  from unowned
  left join delivered as d using (group, topic, partition, member, since)
  left join committed as c using (group, topic, partition, member, since)
  left join planned_groups using (group)
  left join log_bounds using (topic, partition)
),
records_above as (
  select group, topic, partition, member, since, offset, r.records, value
  from placed join surviving_records as r using (topic, partition)
  left anti join not_committed_writes using (group, topic, partition, value)
  where offset >= position
),
seen as (
  select topic, partition, offset, value, min(polled_micros) as polled_micros
  from sliced_polls left semi join records_above using (topic, partition, offset, value)
  group by all
),
first_above as (
  select group, topic, partition, member, since, min(offset) as offset
  from records_above
  group by all
),
reported as (
  select group, topic, partition, member, since, min(at_micros) as reported_micros
  from first_above
  join {{ of_present_topic("samples", "at_micros") }} as s using (topic, partition)
  where broker = leader and log_end_offset > offset
  group by all
),
proved as (
  select group, topic, partition, member, since, offset, a.records, answered_micros,
    least(if({{ is_for_all }}, answered_micros, null), polled_micros) as proved_micros
  from records_above as a
  left join sliced_acknowledged using (topic, partition, offset, value)
  left join seen using (topic, partition, offset, value)
),
batches as (
  select distinct topic, partition, producer_id, base_offset, max_timestamp_micros,
    coalesce(is_control, false) as is_control
  from replica_batches
  left semi join survivors using (topic, partition, broker)
  where is_transactional
),
stable as (
  select topic, partition, max(stable_micros) as stable_micros, max(is_open) as is_open
  from (
    select topic, partition, max(max_timestamp_micros) filter (where is_control) as stable_micros,
      not max_by(is_control, base_offset) as is_open
    from batches
    group by topic, partition, producer_id)
  group by all
),
of_stable as (
  select group, topic, partition, stable_micros, is_open
  from committed_readers join stable using (topic)
)
select group, topic, partition, member, is_shown, is_stored, is_held, position, ended,
  coalesce(is_open, false) as is_open,
  if(min(proved_micros) is null and max(reported_micros) is null, null, greatest(
    since, least(min(proved_micros), max(reported_micros)), max(stable_micros))) as at,
  coalesce(sum(records) filter (where answered_micros <= ended), 0) as records
from placed
left join proved using (group, topic, partition, member, since)
left join reported using (group, topic, partition, member, since)
left join of_stable using (group, topic, partition)
group by group, topic, partition, member, since, is_shown, is_stored, is_held, position, ended,
  is_open
