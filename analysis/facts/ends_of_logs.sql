/*
about: What each replica of a partition has at the end, in words.
subject: moments
kept: false
optional: [log_starts, epoch_checkpoints]
*/
with known as (
  select topic, partition, broker, array_join(transform(
      array_sort(collect_list(struct(leader_epoch, start_offset))),
      one -> format_string('%s from %s', one.leader_epoch, one.start_offset)), ', ') as epochs
  from epoch_checkpoints
  group by all
)
select topic, partition, broker, format_string(
    'broker %s: offsets %s to %s (exclusive), epochs %s', broker, log_start_offset, log_end_offset,
    coalesce(epochs, 'none')) as what
from log_starts left join known using (topic, partition, broker)
