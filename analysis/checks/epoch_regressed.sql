/*
id: G5
definition: A leader epoch or partition epoch went down, or two leaders had one epoch.
explanation: In the metadata log; in the batches of a replica, whose epochs grow with the offset;
  or in what one broker reported of a partition that was created once.
evaluates: every change of a partition in the metadata log, every epoch of each replica and every
  sample.
source: '`PartitionRegistration.merge`; `LeaderEpochFileCache.assign`; KIP-101.'
needs: [leaderships, replica_batches]
evaluated: >-
  select count(*) as evaluated from (select topic from changed union all select topic from in_logs
    union all select topic from reported)
exercised: leader_changes
cases:
- violation: leader epoch
  cause: broker {broker} leads in epoch {epoch}, after epoch {epoch_before}
- violation: two leaders
  cause: broker {broker} leads in epoch {epoch}, in which another broker led
- violation: partition epoch
  cause: the partition epoch did not grow in epoch {epoch}
- violation: log
  cause: in the log of broker {broker}, epoch {epoch} comes after epoch {epoch_before}
- violation: reported
  cause: broker {broker} reported epoch {epoch} after epoch {epoch_before}
evidence: broker, epoch, epoch_before, metadata_offset
*/
with changed as (
  select * from leadership_changes where was is not null
),
in_logs as (
  select *, max(leader_epoch) over below as epoch_before, max(last_offset) over below as end_before
  from epoch_ranges
  window below as (partition by broker, topic, partition order by base_offset, leader_epoch
    rows between unbounded preceding and 1 preceding)
),
samples_once as (
  select * from samples left semi join created_once using (topic, partition)
),
reported as (
  select * from {{ in_order("samples_once", "broker, topic, partition", "leader_epoch") }}
)
select topic, partition, at_micros as at, leader as broker, leader_epoch as epoch,
  was.leader_epoch as epoch_before, metadata_offset, case
    when leader_epoch < was.leader_epoch then 'leader epoch'
    when leader_epoch = was.leader_epoch and leader != was.leader then 'two leaders'
    else 'partition epoch'
  end as kind
from changed
where leader_epoch < was.leader_epoch
  or leader_epoch = was.leader_epoch and leader != was.leader
  or partition_epoch <= was.partition_epoch
union all
select topic, partition, null, broker, leader_epoch, epoch_before, null, 'log'
from in_logs
where epoch_before > leader_epoch or end_before >= base_offset
union all
select topic, partition, at_micros, broker, value, before, null, 'reported'
from reported
where value < before
