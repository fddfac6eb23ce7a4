/*
about: |
  What each group did after the hazard of a story of the scenario `conformance`.

  A guest that shows no position reports none at the log end: its group was there if it was
  delivered the last record, and was prepared if it was delivered any before.

  The final read begins when the hazard is over. A group was prepared if it had read to the log end
  before, and, where a member was opened again after the hazard, had stored a commit of that
  position. A member that was first assigned its partitions at the log end had read to it, also if a
  poll of it failed later. Of a record that was delivered again, the group had stored a commit above
  it in between, or a member that had been delivered it was asked to commit and was closed after the
  hazard; and the surviving log has it.

  A group of the level `delivers` stores no commits. It is prepared without one, and a record that
  it was delivered before the final read is repeated by a delivery in it.

  Some clients have no position until a record comes: of a member that was opened at the log end
  none is known. It was at the log end if its group had committed all that was written by then.
subject: conformance
columns:
  ended: 'the last of caught_up, stalled and failed after the hazard; null: none'
  exception: 'the first that a poll raised after the hazard, of those that are of no wait if there
    are any; null: none did'
  skipped: records of the log that its position passed, and that it was never delivered
  repeated: records that it was delivered again
*/
{% macro written_before(assigned) %}
  select group, member, topic, partition, max(last_offset + 1) as log_end
  from {{ assigned }} join acknowledged_sends using (topic, partition)
  where answered_micros <= at_micros
  group by all
{% endmacro %}
with without_commits as (
  select group from planned_groups where level = 'delivers'
),
final_reads as (
  select min(began_micros) as resumed_micros from phases where stage = 'final read'
),
moments as (
  select e.*, coalesce(at_micros >= resumed_micros, false) as is_after, coalesce(
      {{ error_sort(error_name("exception", "message")) }} = 'wait', false) as is_wait
  from group_events as e cross join final_reads
),
reported_endings as (
  select group, max_by(change, struct(at_micros, seq)) as ended,
    min_by(exception, struct(is_wait, at_micros, seq)) filter (where change = 'failed') as exception
  from moments
  where is_after and change in ('caught_up', 'stalled', 'failed')
  group by group
),
positions_shown as (
  select distinct group, true as is_shown
  from group_events
  where change in ('caught_up', 'stalled')
),
delivered as (
  select group, topic, partition, max_by(last_offset + 1, struct(at_micros, seq, last_place))
      as last_position,
    max(if(at_micros < resumed_micros, last_offset + 1, null)) as position,
    min(first_offset) as first_position
  from deliveries cross join final_reads
  group by all
),
inferred as (
  select group, min(last_position >= log_end) as is_at_end, min(position) is not null as is_before
  from delivered join log_bounds using (topic, partition)
  group by group
),
endings as (
  select group, exception, case
      when coalesce(is_shown, false) then ended
      when is_at_end then 'caught_up'
      when exception is not null then 'failed'
      when is_before then 'stalled'
    end as ended
  from (select distinct group from group_events)
  left join reported_endings using (group)
  left join positions_shown using (group)
  left join inferred using (group)
),
reopened as (
  select group, max(is_after) as is_reopened from moments where change = 'opened' group by group
),
before as (
  select group, max_by(change, struct(at_micros, seq)) as last_change,
    max_by(member, struct(at_micros, seq)) as member
  from moments
  where not is_after and change in ('caught_up', 'stalled', 'failed')
  group by group
),
first_assigned as (
  select group, member, topic, partition, min_by(position, struct(at_micros, seq)) as position,
    min(at_micros) as at_micros
  from moments join before using (group, member)
  where not is_after and change = 'assigned'
  group by all
),
written_by_then as ({{ written_before("first_assigned") }}),
arrived as (
  select group, bool_and(coalesce(position >= log_end, false)) as has_arrived
  from first_assigned left join written_by_then using (group, member, topic, partition)
  group by group
),
reached as (
  select group, topic, partition, max(position) as position
  from moments
  where not is_after and change = 'caught_up'
  group by all
  union all
  select group, topic, partition, position
  from delivered left anti join positions_shown using (group)
  where position is not null
),
stored as (
  select group, topic, partition, max(offset) as committed
  from client_offsets cross join final_reads
  where {{ is_stored }} and committed_micros <= resumed_micros + {{ commit_clock_micros }}
  group by all
),
waiting as (
  select group, member, topic, partition, position, at_micros
  from moments join before using (group, member)
  where change = 'stalled' and last_change = 'stalled' and not is_after
),
written_by_rest as ({{ written_before("waiting") }}),
at_rest as (
  select group, bool_and(position is null and coalesce(committed >= log_end, false)) as is_at_rest
  from waiting left join written_by_rest using (group, member, topic, partition)
  left join stored using (group, topic, partition)
  group by group
),
lacking as (
  select distinct group, true as is_lacking
  from reached left anti join without_commits using (group)
  left join stored using (group, topic, partition)
  where coalesce(committed < position, true)
),
-- Who shows no position may show no leader epochs either, so `never_delivered` can't place it.
gone_past as (
  select group, topic, partition, offset, records, value
  from surviving_records
  join (select * from delivered left anti join positions_shown using (group)) as d
    using (topic, partition)
  where offset >= first_position and offset < last_position
),
passed as (
  select group, sum(records) as skipped
  from never_delivered left semi join positions_shown using (group)
  group by group
  union all
  select group, sum(records)
  from gone_past left anti join sliced_polls using (group, topic, partition, value)
  group by group
),
-- A client may leave a position out of its commit, and not show it: all are closed after a commit.
closings as (
  select group, min(at_micros) as closed_micros
  from moments
  where is_after and change = 'closed'
  group by group
),
again as (
  select distinct r.group, r.topic, r.partition, r.offset, r.records, r.value
  from repeated_slices as r
  join client_offsets as c using (group, topic, partition)
  where {{ is_stored }} and c.offset > r.last_offset
    and committed_micros + {{ commit_clock_micros }} < last_micros
  union
  select group, topic, partition, offset, records, value
  from repeated_slices join closings using (group)
  where first_micros < closed_micros and last_micros > closed_micros
  union
  select group, topic, partition, offset, records, value
  from repeated_slices left semi join without_commits using (group) cross join final_reads
  where first_micros < resumed_micros and last_micros >= resumed_micros
),
returned as (
  select group, sum(records) as repeated
  from again left semi join surviving_records using (topic, partition, offset, value)
  group by group
)
select group, ended, exception,
  if(coalesce(is_shown, false), coalesce(last_change = 'caught_up' or is_at_rest, false)
        or coalesce(last_change = 'failed' and has_arrived, false),
      coalesce(is_before, false))
    and not (coalesce(is_reopened, false) and coalesce(is_lacking, false)) as is_prepared,
  cast(coalesce(skipped, 0) as bigint) as skipped,
  cast(coalesce(repeated, 0) as bigint) as repeated
from planned_groups
left join endings using (group)
left join positions_shown using (group)
left join inferred using (group)
left join reopened using (group)
left join before using (group)
left join arrived using (group)
left join at_rest using (group)
left join lacking using (group)
left join passed using (group)
left join returned using (group)
order by group
