/*
about: |
  What was asked to be committed outside of transactions: by a client, as it reports it, or by an
  administrator, by a single request or a call of Admin.

  Left out are commits for which a client had no position, and version 0 of OffsetCommit, whose
  offsets were in ZooKeeper.
subject: commit_calls
kept: false
optional: [commits, wire_calls]
columns:
  worker: that asked
  seq: in its history
  member: of a client; null of an administrator
  metadata: of an administrator's; null where it is not known
  outcome: ok, failed; unknown where no response is known
  at_micros: when its outcome was known
*/
select worker, seq, group, topic, partition, cast(null as string) as member,
  asked_offset as offset, coalesce(asked_epoch, -1) as epoch, coalesce(metadata, '') as metadata,
  case when error_code is null then 'unknown' when error_code = 0 then 'ok' else 'failed' end
    as outcome,
  began_micros, at_micros
from wire_calls
where (api = 'OFFSET_COMMIT' and version > 0 or api = 'alterConsumerGroupOffsets')
  and topic is not null
union all
select worker, seq, group, topic, partition, member, offset, committed_epoch, null, outcome,
  began_micros, committed_micros
from commits
where offset is not null and outcome != 'nothing'
