/*
id: D6
definition: The coordinator acknowledged a commit, and the surviving log does not have it.
explanation: The surviving log is that of the last in-sync replicas of `__consumer_offsets`. It
  has a commit that was stored between the request and its response; one of the same offset that
  was stored at another time is another commit. A commit that is stored with another offset is
  evaluated by `commit_mismatch`.
permitted: an unclean election of the group's partition of `__consumer_offsets` since the commit;
  of any of its partitions, if the log has no commit of the group.
undecided: >-
  a later commit of the group and partition is stored: compaction may have removed this one. Not if
  the log still has an older commit of that group and partition, which compaction would have
  removed too; or if a replica that did not survive has it at an offset at which the surviving log
  has another.
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
  when: gone_at is not null
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
  select asked.group, asked.topic, asked.partition, member, seq, asked.offset,
    max(survives) as survives,
    max(struct(offsets_partition, offsets_offset)) filter (where not survives) as gone_at,
    max(brokers) filter (where not survives) as brokers
  from asked_commits as asked join all_offsets as o using (group, topic, partition, offset)
  where o.committed_micros between asked_first and asked_last
  group by all
),
otherwise as (
  select * from stored_otherwise where kind = 'offset' and took_micros is not null
),
lost as (
  select a.*, gone_at, brokers, oldest_micros, oldest_high, last_micros, last_low, last_at
  from acknowledged as a
  left join stored using (group, topic, partition, member, seq, offset)
  left join stored_bounds using (group, topic, partition)
  left anti join otherwise using (group, topic, partition, member, seq)
  where not coalesce(survives, false)
)
select *, offset as offset_first, offset as offset_last, committed_micros as at,
  coalesce(last_low > committed_micros, false) as is_followed,
  coalesce(last_at.offsets_offset <= gone_at.offsets_offset, false)
    or coalesce(oldest_high < began_micros, false) as is_uncompacted
from {{ with_offsets_permit("lost", "committed_micros",
  "coalesce(gone_at.offsets_partition, last_at.offsets_partition)") }}
