/*
about: The findings about commits that are asked about, and where their commits are stored.
subject: moments
kept: false
optional: [leaderships]
columns:
  offsets_partition: of `__consumer_offsets`; null if it is not known
*/
with known as (
  select max(partition) + 1 as partitions from leaderships where topic = {{ offsets_topic }}
)
select number, topic, partition, of_group, asked_micros, hash % partitions as offsets_partition
from asked_findings cross join known
where is_about_commits
