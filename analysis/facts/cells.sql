/*
about: |
  What each group did after the hazard of a story of the scenario `conformance`.

  The final read begins when the hazard is over. A group was prepared if it had read to the log end
  before, and, where a member was opened again after the hazard, had stored a commit of that
  position. Of a record that was delivered again, the group had stored a commit above it in
  between, and the surviving log has it.
subject: conformance
columns: |
  group string
  ended string: the last of caught_up, stalled and failed after the hazard; null: none
  exception string: the first that a poll raised after the hazard; null: none did
  is_prepared boolean
  skipped bigint: records of the log that its position passed, and that it was never delivered
  repeated bigint: records that it was delivered again
*/
with final_reads as (
  select min(began_micros) as resumed_micros from phases where stage = 'final read'
),
moments as (
  select e.*, coalesce(at_micros >= resumed_micros, false) as is_after
  from group_events as e cross join final_reads
),
endings as (
  select group, max_by(change, struct(at_micros, seq)) as ended,
    min_by(exception, struct(at_micros, seq)) filter (where change = 'failed') as exception
  from moments
  where is_after and change in ('caught_up', 'stalled', 'failed')
  group by group
),
reopened as (
  select group, max(is_after) as is_reopened from moments where change = 'opened' group by group
),
before as (
  select group, max_by(change, struct(at_micros, seq)) as last_change
  from moments
  where not is_after and change in ('caught_up', 'stalled', 'failed')
  group by group
),
reached as (
  select group, topic, partition, max(position) as position
  from moments
  where not is_after and change = 'caught_up'
  group by all
),
stored as (
  select group, topic, partition, max(offset) as committed
  from client_offsets cross join final_reads
  where {{ is_stored }} and committed_micros <= resumed_micros + {{ commit_clock_micros }}
  group by all
),
lacking as (
  select distinct group, true as is_lacking
  from reached left join stored using (group, topic, partition)
  where coalesce(committed < position, true)
),
passed as (
  select group, sum(records) as skipped from never_delivered group by group
),
again as (
  select distinct r.group, r.topic, r.partition, r.offset, r.records, r.value
  from repeated_slices as r
  join client_offsets as c using (group, topic, partition)
  where {{ is_stored }} and c.offset > r.last_offset
    and committed_micros + {{ commit_clock_micros }} < last_micros
),
returned as (
  select group, sum(records) as repeated
  from again left semi join surviving_records using (topic, partition, offset, value)
  group by group
)
select group, ended, exception,
  coalesce(last_change = 'caught_up', false)
    and not (coalesce(is_reopened, false) and coalesce(is_lacking, false)) as is_prepared,
  cast(coalesce(skipped, 0) as bigint) as skipped,
  cast(coalesce(repeated, 0) as bigint) as repeated
from planned_groups
left join endings using (group)
left join reopened using (group)
left join before using (group)
left join lacking using (group)
left join passed using (group)
left join returned using (group)
