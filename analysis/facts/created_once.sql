/*
about: Partitions whose topic had one topic id only.
subject: topics
kept: false
columns: |
  topic string
  partition int
*/
select topic, partition from creations where is_last and creation = 0
