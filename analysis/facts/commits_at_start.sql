/*
about: |
  The assignments that began with a commit, and which one stood then.

  What a transaction committed counts from its marker on, if that was before the member was opened:
  no response to the member is older. What was aborted stood never. Left out are assignments of
  which it is not known whether a commit was before them, as clocks were apart or as a transaction
  of the group ended later, or is not known to have ended. The columns up to first_micros are those
  of `assignments`.
subject: assignments
columns:
  gone_offset: of a later commit until then that did not survive in the coordinators' log; null if
    there was none
*/
with opened as (
  select group, member, min(at_micros) as opened_micros
  from group_events
  where change = 'opened'
  group by all
),
stored as (
  select group, topic, partition, by_member, by_seq, survives, {{ in_log }} as in_log,
    struct(committed_micros as at_micros, offset, committed_epoch as epoch) as commit,
    coalesce(producer_id >= 0, false) as is_transactional, marker_micros
  from all_offsets
  where not marker <=> 'abort'
),
before as (
  select a.*, survives, in_log, commit, coalesce(by_member = member, false) as is_ordered, by_seq,
    is_transactional, coalesce(marker_micros > opened_micros - :skew_micros, true) as is_late
  from assignments as a
  left join opened using (group, member)
  join stored using (group, topic, partition)
),
begun as (
  select group, topic, partition, member, from_seq, from_micros, before_micros, position,
    first_offset, first_micros,
    max_by(commit, in_log) filter (where survives) as commit,
    max_by(commit, commit.at_micros) filter (where not survives) as gone,
    max(if(is_transactional, is_late,
      not is_ordered and commit.at_micros > from_micros - :skew_micros)) as is_unclear
  from before
  where if(is_ordered, by_seq < from_seq, commit.at_micros <= from_micros + :skew_micros)
  group by all
)
select * except (commit, gone, is_unclear), commit.offset as committed_offset,
  commit.epoch as committed_epoch, commit.at_micros as committed_micros,
  if(gone.at_micros >= commit.at_micros, gone.offset, null) as gone_offset
from begun
where not is_unclear and commit.offset is not null
