/*
id: B6
definition: A member stayed at a position for 2 s or more after the record there was acknowledged.
explanation: >-
  It polled on there, as its commits in between prove; or it reported there that it had caught up,
  and the surviving log has the record. Records of transactions are left out: they can't be read
  before their commit.
evaluates: every stretch of records that one poll returned.
source: no configuration bounds how far a reader lags.
needs: [polls, sends, group_events]
evaluated: select count(*) as evaluated from session_runs
cases:
- permitted: stood still
  cause: >-
    {member} received no record at offset {offset}, {seconds:.1f} s after the record there
    was acknowledged
- permitted: caught up early
  cause: >-
    {member} reported that it had caught up at offset {offset}, {seconds:.1f} s after the
    record there was acknowledged
evidence: member, seconds, acks
place:
  offset_first: offset
  at: at_micros
*/
with assigned as (
  select member, topic, partition, min(at_micros) as assigned_micros
  from group_events
  where change = 'assigned'
  group by all
),
waits as (
  select group, member, topic, partition, first_offset as offset, at_micros,
    coalesce(prev_micros, assigned_micros) as since_micros
  from session_runs left join assigned using (member, topic, partition)
  where at_micros - coalesce(prev_micros, assigned_micros) >= {{ 2 * micros_per_second }}
),
stays as (
  select 'stood still' as kind, waits.*, max(committed_micros) as until_micros
  from waits join commits using (group, member, topic, partition, offset)
  where committed_micros < at_micros
  group by all
  union all
  select 'caught up early', group, member, topic, partition, position, at_micros, null, at_micros
  from {{ of_present_topic("group_events", "at_micros") }}
  where change = 'caught_up' and position is not null
),
stale as (
  select stays.*, acks, value,
    (until_micros - greatest(since_micros, answered_micros)) / {{ micros_per_second }} as seconds
  from stays join sliced_acknowledged using (topic, partition, offset)
  where transaction is null
)
select distinct kind, group, member, topic, partition, offset, at_micros, seconds, acks
from stale left join surviving_records using (topic, partition, offset, value)
where seconds >= 2 and (kind = 'stood still' or leader_epoch is not null)
