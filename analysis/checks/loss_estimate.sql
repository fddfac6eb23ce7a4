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
with ended as (
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
