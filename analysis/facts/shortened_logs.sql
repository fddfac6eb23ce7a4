/*
about: |
  Partitions in which a leader's log may have lacked an offset that an earlier one had.

  Records were deleted, a branch was abandoned, or the topic was created again; or none of that is
  known not to be. Elsewhere no position and no commit can be out of range.
subject: positions
kept: false
columns:
  is_shortened: always true
*/
with uncertain as (
  select topic, partition from log_start_reports where log_start > 0
  union all
  select topic, partition from log_bounds where coalesce(log_start > 0, true)
  union all
  select topic, partition
  from timelines
  where exists(timeline, one -> not one.is_kept or one.is_lacked)
  union all
  select topic, partition
  from elections
  where kind not in ('first', 'clean', 'eligible', 'reassigned')
  union all
  select topic, partition from recreations
)
select distinct topic, partition, true as is_shortened from uncertain
