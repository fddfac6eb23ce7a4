/*
about: Commits as clients report them, and when they may have been stored.
subject: commits
columns:
  asked_first: from when on it may have been stored
  asked_last: until when
  is_kept: whether the coordinators' log has it as it was asked for
*/
with reported as (
  select group, topic, partition, member, seq, offset, committed_epoch, outcome,
    committed_micros - began_micros as took_micros,
    {{ asked_first("committed_micros") }} as asked_first,
    {{ asked_last("committed_micros") }} as asked_last
  from {{ of_present_topic("commits", "committed_micros") }}
),
-- A guest that shows no epoch of its commit does not say that it had none.
not_shown as (
  select group, topic, partition, member, seq, max(c.committed_epoch) as stored_epoch
  from reported as r
  left semi join (select group from planned_groups where client = 'guest') using (group)
  join member_commits as c using (group, topic, partition, offset)
  where r.committed_epoch = -1 and c.committed_micros between asked_first and asked_last
  group by all
),
asked as (
  select group, topic, partition, member, seq, offset,
    coalesce(stored_epoch, committed_epoch) as committed_epoch, outcome, took_micros, asked_first,
    asked_last
  from reported left join not_shown using (group, topic, partition, member, seq)
),
kept as (
  select distinct group, topic, partition, member, seq, true as is_kept
  from asked join member_commits using (group, topic, partition, offset, committed_epoch)
  where committed_micros between asked_first and asked_last
)
select asked.*, coalesce(is_kept, false) as is_kept
from asked left join kept using (group, topic, partition, member, seq)
