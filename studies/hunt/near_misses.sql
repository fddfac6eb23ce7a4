-- How many resumptions of each group came near, one column for each of NEAR_MISSES. A resumption is
-- an assignment that began with a commit.
with began as (
  select group, topic, partition, member, from_seq, from_micros as at_micros, committed_offset,
    committed_epoch, committed_micros
  from commits_at_start
),
stored as (
  select group, topic, partition, offset as committed_offset, committed_epoch, committed_micros,
    max(record_epoch) as record_epoch
  from stored_commits
  group by all
),
led_anew as (
  select distinct group, topic, partition, member, from_seq, true as is_led_anew
  from began join leaderships as l using (topic, partition)
  where l.at_micros > committed_micros and l.at_micros <= began.at_micros
),
resumed as (
  select *, array_max(filter(timeline, one -> one.is_kept and one.start_high <= start_low
      and coalesce(one.from_micros <= at_micros, true))).leader_epoch as oldest_epoch
  from {{ with_log_starts("began") }}
  left join stored
    using (group, topic, partition, committed_offset, committed_epoch, committed_micros)
  left join led_anew using (group, topic, partition, member, from_seq)
  left join timelines using (topic, partition)
)
select group,
  count(*) filter (where is_led_anew) as new_leader,
  count(*) filter (where start_low = committed_offset and start_low > 0) as at_the_log_start,
  count(*) filter (where committed_epoch >= 0 and start_low > 0
    and committed_epoch < oldest_epoch) as epoch_gone,
  count(*) filter (where committed_epoch >= 0 and committed_epoch < record_epoch) as epoch_older,
  count(*) filter (where committed_epoch >= 0 and committed_epoch > record_epoch) as epoch_newer,
  count(*) filter (where committed_epoch < 0) as no_epoch,
  count(*) as resumptions
from resumed
group by all
