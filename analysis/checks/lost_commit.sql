/*
id: D6
definition: The coordinator acknowledged a commit, and the surviving log does not have it.
explanation: The surviving log is that of the last in-sync replicas of `__consumer_offsets`. It
  has the commit if it has its offset, stored between the request and the response.
  `commit_mismatch` evaluates a commit that is stored with another offset.
permitted: an unclean election of the group's partition of `__consumer_offsets` since the commit;
  or of any partition of `__consumer_offsets`, if the log has no commit of the group.
undecided: >-
  the log has a later commit of the group and partition, so that compaction may have removed this
  one. It is a violation nevertheless in two cases. The log still has an older commit of the group
  and partition, which compaction would have removed first. Or an out-of-sync replica has this
  commit at the same or a higher offset than the later one, so that the log was truncated.
evaluates: every acknowledged commit.
source: >-
  `GroupCoordinator.commitOffsets`: a commit is answered once every in-sync replica has the record;
  `Cleaner.shouldRetainRecord`: compaction keeps a key's last record.
needs: [commits]
evaluated: select count(*) as evaluated from acknowledged
exercised: coordinator_changes
cases:
- undecided: superseded
  when: is_followed and not is_uncompacted
  cause: the commit was acknowledged but is not stored; compaction may have removed it
- permitted: lost
  when: permit is not null
  cause: the commit was lost by an election of its partition; {permit.words}
- violation: lost
  when: out_of_sync_at is not null
  cause: the commit was acknowledged, but only an out-of-sync replica stores it
- violation: lost
  when: is_followed
  cause: the commit was acknowledged but is not stored; an older one is, so compaction did not
    remove it
- violation: lost
  cause: the commit was acknowledged, but neither it nor a later one is in __consumer_offsets
evidence: member, committed_epoch, commit_epoch, oldest_micros, last_micros, brokers, permit
*/
with answered as (
  select * from commits where outcome = 'ok' and offset is not null
),
acknowledged as (
  select * from {{ of_present_topic("answered", "committed_micros") }}
),
stored as (
  select asked.group, asked.topic, asked.partition, member, seq, max(survives) as survives,
    max(struct(offsets_partition, offsets_offset)) as out_of_sync_at, max(brokers) as brokers
  from asked_commits as asked join all_offsets as o using (group, topic, partition, offset)
  where o.committed_micros between asked_first and asked_last
  group by all
),
with_other_offset as (
  select * from stored_otherwise where kind = 'offset' and took_micros is not null
),
lost as (
  select a.*, offsets_partition, out_of_sync_at, brokers, oldest_micros, oldest_high, last_micros,
    last_low, last_at
  from acknowledged as a
  left join stored using (group, topic, partition, member, seq)
  left join stored_bounds using (group, topic, partition)
  left join places_of_groups using (group)
  left anti join with_other_offset using (group, topic, partition, member, seq)
  where not coalesce(survives, false)
)
select *, offset as offset_first, offset as offset_last, committed_micros as at,
  coalesce(last_low > committed_micros, false) as is_followed,
  coalesce(last_at.offsets_offset <= out_of_sync_at.offsets_offset, false)
    or coalesce(oldest_high < began_micros, false) as is_uncompacted
from {{ with_offsets_permit("lost", "committed_micros", "offsets_partition") }}
