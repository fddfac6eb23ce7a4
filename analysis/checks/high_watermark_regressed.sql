/*
id: G4
definition: A leader reported a high watermark below one that was reported before it was asked.
evaluates: every high watermark that a leader reported, of partitions that were created once.
source: 'KIP-207: a new leader reports none until it has reached the start of its epoch.'
needs: [samples, leaderships]
evaluated: select count(*) as evaluated from reported
exercised: leader_changes
later_epoch: leader_epoch
cases:
- violation: within an epoch
  cause: the leader of epoch {leader_epoch} reported high watermark {offset_first} after a report
    of {offset_last} ({kind})
- permitted: across epochs
  when: permit is not null
  cause: the leader of epoch {leader_epoch} reported high watermark {offset_first} after a report
    of {offset_last} ({kind}); {permit.words}
- undecided: across epochs
  when: is_unreported
  cause: the leader of epoch {leader_epoch} reported high watermark {offset_first} after a report
    of {offset_last} ({kind}); how the leader was elected is not known
- violation: across epochs
  cause: the leader of epoch {leader_epoch} reported high watermark {offset_first} after a report
    of {offset_last} ({kind})
evidence: leader_epoch, epoch_before, permit
*/
with reported as (
  select * from samples left semi join created_once using (topic, partition)
  where broker = leader and log_end_offset >= 0
),
lower as (
  select topic, partition, leader_epoch,
    min(value) as offset_first, max(before) as offset_last, min(at_micros) as at
  from {{ in_order("reported", "topic, partition, leader_epoch", "log_end_offset") }}
  where value < before
  group by all
),
of_epochs as (
  select topic, partition, leader_epoch,
    min(log_end_offset) as lowest, max(log_end_offset) as highest,
    min_by(at_micros, struct(log_end_offset, at_micros)) as at
  from reported
  group by all
),
-- The nearest of the epochs that reported more: elections before it permit nothing that it had.
followed as (
  select l.*, max(struct(e.leader_epoch, e.highest)) as earlier
  from of_epochs as l join of_epochs as e
    on (e.topic, e.partition) = (l.topic, l.partition) and e.leader_epoch < l.leader_epoch
      and e.highest > l.lowest
  group by all
),
regressed as (
  select topic, partition, leader_epoch, leader_epoch as epoch_before,
    offset_first, offset_last, at, 'within an epoch' as kind
  from lower
  union all
  select topic, partition, leader_epoch, earlier.leader_epoch,
    lowest, earlier.highest, at, 'across epochs'
  from followed
),
known as (
  select * from regressed left join timelines using (topic, partition)
)
select * from {{ with_permit("known", "epoch_before", "leader_epoch", "offset_first") }}
