/*
about: Rows of `leaderships`, and until when each held.
subject: leader_epochs
kept: false
columns: |
  topic string
  partition int
  leader int: -1: none
  leader_epoch int
  partition_epoch int: increases with each change (`PartitionRegistration.merge`)
  replicas array<int>
  isr array<int>
  elr array<int>: eligible leader replicas (KIP-966)
  metadata_offset bigint: of the record
  metadata_epoch int: of the quorum
  at_micros bigint
  topic_id string: distinguishes topics that had one name; null where not known
  until_micros bigint: when the next row came; null of the last
*/
select *, lead(at_micros) over (partition by topic, partition order by metadata_offset)
  as until_micros
from leaderships
