/*
about: The first and the last commit of each group and partition that the surviving log has.
subject: commits
columns:
  oldest_high: with the clock bound, as `last_low`
  last_at: where the last one is in the coordinators' log
*/
select group, topic, partition,
  min(committed_micros) as oldest_micros,
  min(committed_micros) + {{ commit_clock_micros }} + :clock_micros as oldest_high,
  max(committed_micros) as last_micros,
  max(committed_micros) - :clock_micros as last_low,
  max(struct(offsets_partition, offsets_offset)) as last_at
from present_offsets
group by all
