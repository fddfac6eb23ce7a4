/*
about: "`leaderships`, each with the partition's state before it."
subject: topics
columns:
  creation: numbers the topic ids that one name had, from 0
  topic_id: distinguishes topics that had one name; null where not known
  leader: '-1: none'
  partition_epoch: increases with each change (`PartitionRegistration.merge`)
  elr: eligible leader replicas (KIP-966)
  metadata_offset: of the record
  was: the state before; null where nothing is known
  last_leader: the last broker that led before, if any did
  is_first: whether it created the partition
*/
with compared as (
  select *, leader_epoch = 0 and partition_epoch = 0 as is_beginning,
    lag(topic_id) over in_log as id_before, lag(leader_epoch) over in_log as epoch_before
  from leaderships
  window in_log as (partition by topic, partition order by metadata_offset)
),
marked as (
  select *, epoch_before is not null and coalesce(topic_id != id_before, is_beginning) as is_new
  from compared
),
numbered as (
  select *, count_if(is_new) over (
      partition by topic, partition order by metadata_offset) as creation
  from marked
),
followed as (
  select *,
    lag(struct(leader, leader_epoch, partition_epoch, replicas, isr, elr)) over in_creation as was,
    last_value(if(leader >= 0, leader, null)) ignore nulls over (
      partition by topic, partition, creation order by metadata_offset
      rows between unbounded preceding and 1 preceding) as last_leader
  from numbered
  window in_creation as (partition by topic, partition, creation order by metadata_offset)
)
select * except (metadata_epoch, is_beginning, id_before, epoch_before, is_new),
  was is null and (is_beginning or is_new) as is_first
from followed
