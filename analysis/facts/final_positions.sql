/*
about: How far groups went that did not end by raising.
subject: progress
kept: false
columns:
  first_offset: as of `beginnings`
  final_position: 'the position, but not above where a newer leader epoch started after the group
    was seen last, nor above where the epoch that it read last started, if the log lacks it: it
    did not go on there'
  position: as of `positions`
  seen_micros: likewise
*/
with calm as (
  select group from group_endings where last_change != 'failed'
),
last_read as (
  select group, topic, partition,
    max_by(leader_epoch, struct(at_micros, seq, last_place)) as read_epoch
  from deliveries
  group by all
)
select group, topic, partition, first_offset, position, seen_micros,
  least(position, array_min(transform(filter(timeline,
      one -> one.leader_epoch > read_epoch and (is_polled or one.from_micros > seen_micros)
        or (one.leader_epoch = read_epoch
          and array_contains(array_max(timeline).lacked, read_epoch))),
    one -> one.start_high))) as final_position
from last_positions
join group_beginnings using (group, topic, partition)
left semi join calm using (group)
left join last_read using (group, topic, partition)
left join timelines using (topic, partition)
