/*
id: F11
definition: 'An election abandoned a branch: its length, and the acknowledged values lost with it.'
explanation: The length is the old log's end less the start of the newer epoch. It counts records
  that were never acknowledged, and not those that no source saw. `lost_record` evaluates the loss.
evaluates: every election that ended an epoch.
source: KAFKA-10751.
needs: [sends, log_starts, epoch_checkpoints, leaderships]
evaluated: select count(*) as evaluated from ended
exercised: leader_changes
cases:
- permitted: exact
  when: estimate = lost
  cause: >-
    epoch {epoch} reached {reached} and ends at {forked_at} in the log: {estimate} records; {lost}
    acknowledged ones are lost
- permitted: more than acknowledged
  when: estimate > lost
  cause: >-
    epoch {epoch} reached {reached} and ends at {forked_at} in the log: {estimate} records; {lost}
    acknowledged ones are lost
- permitted: less than acknowledged
  cause: >-
    epoch {epoch} reached {reached} and ends at {forked_at} in the log: {estimate} records; {lost}
    acknowledged ones are lost
evidence: epoch, forked_at, reached, reached_by, estimate, lost
place:
  offset_first: forked_at
  offset_last: reached - 1
  at: until_micros
*/
-- The branches that a truncation removed. Known is what any replica still holds, surviving or
-- not, or held when a fault on its server ended, what any group was delivered, which
-- acknowledged records were lost, and which end a leader reported (its high watermark). What no
-- source saw is left out.
with ends as (
  select topic, partition, leader_epoch as epoch, last_offset + 1 as reached, 3 as rank,
    'replica' as reached_by
  from replica_batches
  union all
  select topic, partition, leader_epoch, last_offset + 1, 3, 'replica' from cut_batches
  union all
  select topic, partition, epoch, offset_max + 1, 2, 'poll' from branch_reads
  union all
  select topic, partition, leader_epoch, log_end_offset, 1, 'sample'
  from samples
  where broker = leader and log_end_offset > 0
  union all
  select topic, partition, acknowledged_epoch, last_offset + 1, 0, 'acknowledgement'
  from lost_acknowledged
),
furthest as (
  select topic, partition, epoch, max(struct(reached, rank, reached_by)) as last
  from ends
  where epoch >= 0
  group by all
),
forked as (
  select topic, partition, epoch, {{ fork_then("epoch", forever) }} as forked_at,
    last.reached as reached, last.reached_by as reached_by
  from furthest left join timelines using (topic, partition)
),
abandoned_branches as (
  select * from forked where reached > forked_at
),
ended as (
  select topic, partition, epoch, until_micros from leader_epochs where newer_epoch is not null
),
first_ended as (
  select topic, partition, epoch, min(until_micros) as until_micros from ended group by all
),
abandoned as (
  select b.*, reached - forked_at as estimate, coalesce(sum(records), 0) as lost
  from abandoned_branches as b
  left join lost_acknowledged as l
    on (l.topic, l.partition, l.acknowledged_epoch) = (b.topic, b.partition, b.epoch)
      and offset >= forked_at
  group by all
)
select * from abandoned left join first_ended using (topic, partition, epoch)
