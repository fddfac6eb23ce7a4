/*
id: B3
definition: Within a session, a record between two deliveries in turn was not delivered.
explanation: Within a poll or between polls. A record counts if the surviving log had it at that
  time (some were deleted later and are still in a segment) and its epoch lies between those of the
  deliveries. Control records, aborted batches and records of another branch are not expected. A
  member that reads committed values is to get a transaction's records only if it was committed.
permitted: between two polls the member went on at an offset that its group had committed, as after
  a rebalance that begins and ends within one poll.
undecided: it is not known how the record's transaction ended; a guest may have been reset or have
  joined again unseen between the polls.
evaluates: every delivery.
source: '`KafkaConsumer`: records of a partition are returned in order.'
needs: [polls, group_events]
evaluated: select coalesce(sum(records), 0) as evaluated from deliveries
cases:
- violation: within a poll
  when: is_within
  cause: '{member} skipped {records} records of the log within a session'
  undecided_if: ended_as = 'unknown'
- permitted: ahead to its commit
  when: is_commit
  cause: '{member} skipped {records} records of the log within a session'
- violation: between polls
  cause: '{member} skipped {records} records of the log within a session'
  undecided_if: ended_as = 'unknown' or hidden_reset is not null
evidence: records, member
*/
with in_log as (
  select p.*, leader_epoch, value from passed_slices as p join surviving_records as r
    on (r.topic, r.partition, r.offset) = (p.topic, p.partition, p.offset)
),
deleted_since as (
  select p.*, leader_epoch, value from passed_slices as p join deleted_records as r
    on (r.topic, r.partition, r.offset) = (p.topic, p.partition, p.offset)
),
skipped as (
  select * from in_log
  union all
  select * except (start_low, start_high) from {{ with_log_starts("deleted_since") }}
  where offset >= start_high
),
judged as (
  select skipped.*, if(c.member is null, 'required', coalesce(ended_as, 'required')) as ended_as
  from skipped
  left join committed_members as c using (group, member)
  left join transactional_writes using (topic, partition, value)
  where {{ is_on_branch() }}
),
required as (
  select * from judged where ended_as not in ('aborted', 'failed')
)
select *
from {{ spans("required", "group, topic, partition, member, is_within, ended_as, is_commit",
  "min(at_micros) as at,") }}
left join (select group, hidden_reset from planned_groups) using (group)
