/*
about: Stored commits that no client asked for so, each with the report that it differs from.
subject: commits
columns:
  offsets_partition: of `__consumer_offsets`
  offsets_offset: in that partition
  kind: '`epoch`, `offset`, `stored though it failed`, `stored though there was nothing`; null
    where no report is of that time'
  member: of the nearest report, as what follows
*/
-- An earlier attempt of a commit that was tried again, as one that took so long may have been, is
-- stored whenever the broker receives it, also after a later attempt was acknowledged.
with by_themselves as (
  select group from planned_groups where is_by_client
),
explained as (
  select {{ commit_key }}
  from member_commits
  join asked_commits using (group, topic, partition, offset, committed_epoch)
  where committed_micros >= asked_first
    and (outcome = 'unknown'
      or outcome = 'ok' and (committed_micros <= asked_last or took_micros >= 100000))
),
-- Clients commit the epoch of a control record before the offset, and do not report it.
of_controls as (
  select distinct {{ commit_key }}, true as is_of_control
  from stored_commits
  where is_after_control and committed_epoch = logged_epoch
),
unexplained as (
  select {{ commit_key }}, offset as stored_offset, committed_epoch as stored_epoch,
    committed_micros as stored_micros, coalesce(is_of_control, false) as is_of_control
  from member_commits
  left anti join by_themselves using (group)
  left anti join explained using ({{ commit_key }})
  left join of_controls using ({{ commit_key }})
),
reported as (
  select unexplained.*, member, seq, outcome, offset, committed_epoch, took_micros, is_kept,
    abs(stored_micros - asked_last) as apart_micros,
    stored_micros between asked_first and asked_last as is_then,
    coalesce(is_of_control and stored_offset = offset, false) as is_explained
  from unexplained left join asked_commits using (group, topic, partition)
),
compared as (
  select *, case
      when outcome = 'ok' and not is_kept and stored_offset = offset then 'epoch'
      when outcome = 'ok' and not is_kept and stored_offset != offset then 'offset'
      when outcome = 'failed' and stored_offset = offset and stored_epoch = committed_epoch
        then 'stored though it failed'
      when outcome = 'nothing' then 'stored though there was nothing'
    end as kind
  from reported
),
judged as (
  select {{ commit_key }}, stored_offset, stored_epoch, stored_micros,
    min_by(struct(kind, member, seq, outcome, offset, committed_epoch, took_micros),
        struct(apart_micros, member, seq))
      filter (where is_then and not is_explained and kind is not null) as nearest,
    max(is_then and is_explained) as is_of_control_record
  from compared
  group by all
)
select {{ commit_key }}, stored_offset, stored_epoch, stored_micros, nearest.kind as kind,
  nearest.member as member, nearest.seq as seq, nearest.outcome as outcome,
  nearest.offset as asked_offset, nearest.committed_epoch as asked_epoch,
  nearest.took_micros as took_micros
from judged
where nearest is not null or not coalesce(is_of_control_record, false)
