/*
about: The values of offsets that have several, in slices.
subject: branches
columns:
  offset: the first one
  last_offset: inclusive
  records: how many records
  groups: those that were given it; null where none was
  is_kept: whether the surviving log has it
  first_micros: of its deliveries; null without any
  last_micros: likewise
  is_required: sent with acks=all
  answered_micros: when it was acknowledged with this offset; null if it was not
*/
with seen as (
  select topic, partition, offset, last_offset, records, leader_epoch, value, group, polled_micros
  from sliced_polls
  union all
  select topic, partition, offset, last_offset, records, leader_epoch, value, null, null
  from surviving_records
),
several as (
  select topic, partition, offset
  from seen
  group by all
  having min(value) != max(value)
),
rivals as (
  select topic, partition, offset, last_offset, records, leader_epoch, value,
    if(count(group) > 0, collect_set(group), null) as groups,
    count(*) > count(group) as is_kept,
    min(polled_micros) as first_micros, max(polled_micros) as last_micros
  from seen left semi join several using (topic, partition, offset)
  group by all
),
sent as (
  select topic, partition, value, max(acks = 'all') as is_required,
    min(offset) filter (where outcome = 'ok') as acknowledged_offset,
    min(answered_micros) filter (where outcome = 'ok') as answered_micros
  from sliced_sends left semi join rivals using (topic, partition, value)
  group by all
)
select rivals.*, coalesce(is_required, false) as is_required,
  if(offset = acknowledged_offset, answered_micros, null) as answered_micros
from rivals left join sent using (topic, partition, value)
