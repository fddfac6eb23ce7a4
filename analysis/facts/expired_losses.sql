/*
about: Lost records below the log start, which may have been deleted, and who never had them.
subject: acknowledgements
kept: false
columns:
  is_unread: whether a group that reads the topic never had them, or none reads it
  groups_missed: how many of the groups that read the topic never had them
  is_planned: whether the plan or an order of the run lets records of the topic expire
  deletion: that was logged
*/
with deleted as (
  select distinct topic, partition, offset, value from lost_acknowledged where offset < log_start
),
had as (
  select topic, partition, value, count(distinct group) as groups_had
  from sliced_polls
  left semi join planned_readers using (group, topic)
  left semi join deleted using (topic, partition, value)
  group by all
),
losses as (
  select * from {{ with_deletion("deleted", "offset") }}
),
by_order as (
  select distinct losses.topic, losses.partition, losses.offset, losses.value, true as is_ordered
  from losses join {{ orders_of("losses", "losses.offset + 1", "deletion.at_micros") }}
)
select topic, partition, offset, value,
  not coalesce(subscribed > 0 and subscribed <= groups_had, false) as is_unread,
  subscribed - coalesce(groups_had, 0) as groups_missed,
  coalesce(retention_ms is not null or deletes or is_ordered, false) as is_planned,
  deletion
from losses
left join had using (topic, partition, value)
left join planned_topics using (topic)
left join by_order using (topic, partition, offset, value)
