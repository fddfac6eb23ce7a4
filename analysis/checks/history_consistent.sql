/*
id: M6
definition: Two sources of the run contradict each other.
explanation: A member reported a position that is below an earlier or above the next delivery of
  its session, or that records of the log separate from its deliveries, and no reset in between
  explains it; or a position beyond every known end of the log; or it was delivered records of a
  partition that it never reported as assigned. Of a replica, batches and records differ, its end
  is not that of its last batch, or it still has a record that it truncated. A checkpoint has
  another start of an epoch than its leader logged.
undecided: 'always: one of the sources is wrong, not Kafka.'
evaluates: every position that a member reported.
source: decision 16; the tables of one run describe one cluster.
needs: [group_events, log_starts]
evaluated: select count(*) as evaluated from reported_positions
cases:
- undecided: position behind
  cause: '{member} reported {change} at position {position}: {kind}'
  evidence: member, change, position, given_before, given_next
- undecided: position ahead
  cause: '{member} reported {change} at position {position}: {kind}'
  evidence: member, change, position, given_before, given_next
- undecided: records between
  cause: '{member} reported {change} at position {position}: {kind}'
  evidence: member, change, position, given_before, given_next
- undecided: beyond the log
  cause: '{member} reported {change} at position {position}: {kind}'
  evidence: member, change, position, given_before, given_next
- undecided: not assigned
  cause: >-
    {member} received offsets {offset_first} to {offset_last} without a reported assignment of the
    partition
  evidence: member
- undecided: batches and records differ
  cause: >-
    broker {broker}, epoch {leader_epoch}: replica_batches has {batched} records between
    {offset_first} and {offset_last}, replica_records has {recorded}
  evidence: broker, leader_epoch, batched, recorded
- undecided: log ends differ
  cause: >-
    broker {broker}: log_starts has log end offset {log_end_offset}; the last batch of
    replica_batches ends before {batches_end}
  evidence: broker, log_end_offset, batches_end
- undecided: epoch starts differ
  cause: broker {broker} has start offset {offset_first} of epoch {leader_epoch}; its leader
    logged {logged_start}
  evidence: broker, leader_epoch
- undecided: truncated but present
  cause: broker {broker} truncated value {value} at offset {offset_first} but still has it
  evidence: broker, leader_epoch, value
*/
with positions as (
  select *, position as offset_first, at_micros as at from contradicted_positions
),
assigned as (
  select distinct group, member, topic, partition from group_events where change = 'assigned'
),
reporting as (
  select distinct group, member from assigned
),
unassigned as (
  select 'not assigned' as kind, group, member, topic, partition, min(first_offset) as offset_first,
    max(last_offset) as offset_last, min(at_micros) as at
  from deliveries
  left semi join reporting using (group, member)
  left anti join assigned using (group, member, topic, partition)
  group by all
),
-- Without any batch there is nothing to compare.
batches as (
  select 'batches and records differ' as kind, *
  from unmatched_replicas
  where exists (select broker from replica_batches)
),
ends as (
  select 'log ends differ' as kind, *, log_end_offset as offset_first
  from ends_of_replicas
  where batches_end != log_end_offset
),
starts as (
  select 'epoch starts differ' as kind, topic, partition, broker, leader_epoch, logged_start,
    start_offset as offset_first, at_micros as at
  from starts_not_logged
),
truncated as (
  select 'truncated but present' as kind, topic, partition, broker, leader_epoch, value,
    offset as offset_first, at_micros as at
  from kept_though_truncated
)
-- All rows of each: their kinds differ.
select *
from positions
full outer join unassigned using (kind, group, member, topic, partition, offset_first, at)
full outer join batches using (kind, topic, partition, offset_first, offset_last)
full outer join ends using (kind, topic, partition, broker, offset_first)
full outer join starts using (kind, topic, partition, broker, leader_epoch, offset_first, at)
full outer join truncated using (kind, topic, partition, broker, leader_epoch, offset_first, at)
