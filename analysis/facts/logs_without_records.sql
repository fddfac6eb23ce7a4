/*
about: |
  Where a surviving log lacks records.

  Batches of a surviving replica have more than its records, or other offsets: what is not among
  the records there may be in the log.
subject: replicas
columns: |
  topic string
  partition int
  unmatched_first bigint
  unmatched_last bigint
*/
select topic, partition,
  min(offset_first) as unmatched_first, max(offset_last) as unmatched_last
from unmatched_replicas left semi join survivors using (topic, partition, broker)
where batched >= recorded
group by all
