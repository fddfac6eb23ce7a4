/*
about: How each group went on after it was stopped and opened again, or after its last pause.
subject: resumption
columns:
  committed_offset: what the coordinator held when the last member was opened, or went on after
    its pause
  record_epoch: what the client knew at its own last commit before, as the next ones
  cluster_epoch: of the cluster
  resumed_at: where the last member was served first; its last position where it was served
    nothing
  exception: that ended the last member
  divergent_offset: that it named
  redelivered: records that were delivered more than once
  never_delivered: records that the group went past
*/
with reopened as (
  select group, max_by(member, struct(at_micros, seq)) as member, max(at_micros) as opened_micros
  from group_events
  where change = 'opened'
  group by group
  having count(distinct member) > 1
),
of_last_member as (
  select * from group_events left semi join reopened using (group, member)
),
failed as (
  select group, max(seq) as failed_seq, max(at_micros) as failed_micros
  from of_last_member
  where change = 'failed'
  group by group
),
came_to_an_end as (
  select group, topic, partition, max(seq) as stopped_seq, max(at_micros) as stopped_micros,
    max_by(position, struct(at_micros, seq)) as reported_at,
    collect_list(if(change = 'caught_up', seq, null)) as ends
  from of_last_member
  where change in ('caught_up', 'stalled')
  group by all
),
-- Where the last member came to the end, stayed open, and read on. Who stalled before was at its
-- first reading still.
pauses as (
  select group, topic, partition, greatest(stopped_micros, failed_micros) as ended_micros,
    array_max(filter(ends, one -> one < greatest(stopped_seq, failed_seq))) as paused_seq
  from came_to_an_end left join failed using (group)
),
paused as (
  select * from pauses where paused_seq is not null
),
until as (
  select group, topic, partition, coalesce(ended_micros, opened_micros) as until_micros
  from (select distinct group, topic, partition from deliveries)
  join reopened using (group)
  left join paused using (group, topic, partition)
),
stored as (
  select group, topic, partition,
    max_by(offset, {{ in_log }}) as committed_offset,
    max_by(committed_epoch, {{ in_log }}) as committed_epoch
  from present_offsets join until using (group, topic, partition)
  where {{ is_stored }} and committed_micros <= until_micros
  group by all
),
known as (
  select group, topic, partition,
    max_by(record_epoch, struct(committed_micros, seq)) as record_epoch,
    max_by(position_epoch, struct(committed_micros, seq)) as position_epoch,
    max_by(metadata_epoch, struct(committed_micros, seq)) as metadata_epoch,
    max_by(cluster_epoch, struct(committed_micros, seq)) as cluster_epoch
  from commits join until using (group, topic, partition)
  where committed_micros <= until_micros
  group by all
),
served as (
  select group, topic, partition, min_by(first_offset, struct(seq, first_place)) as served_at
  from deliveries
  left semi join reopened using (group, member)
  left join paused using (group, topic, partition)
  where paused_seq is null or seq > paused_seq
  group by all
),
ended as (
  select group, last_member as member from group_endings where last_change = 'failed'
),
raised as (
  select group, max_by(exception, at_micros) as exception, max(divergent_offset) as divergent_offset
  from group_events left semi join ended using (group, member)
  where change = 'failed'
  group by group
),
repeated as (
  select group, topic, partition, records
  from sliced_polls
  group by group, topic, partition, value, records
  having count(*) > 1
),
redelivered as (
  select group, topic, partition, cast(sum(records) as bigint) as redelivered
  from repeated
  group by all
),
skipped as (
  select group, topic, partition, cast(sum(records) as bigint) as never_delivered
  from (select distinct group, topic, partition, offset, records from never_delivered)
  group by all
)
select until.* except (until_micros), committed_offset, committed_epoch, record_epoch,
  position_epoch, metadata_epoch, cluster_epoch, coalesce(served_at, reported_at) as resumed_at,
  exception, divergent_offset, coalesce(redelivered, 0) as redelivered,
  coalesce(never_delivered, 0) as never_delivered
from until
left semi join planned_groups using (group)
left join stored using (group, topic, partition)
left join known using (group, topic, partition)
left join served using (group, topic, partition)
left join came_to_an_end using (group, topic, partition)
left join raised using (group)
left join redelivered using (group, topic, partition)
left join skipped using (group, topic, partition)
