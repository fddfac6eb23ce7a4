/*
about: Partitions whose topic had one topic id only.
subject: topics
kept: false
*/
select topic, partition from creations where is_last and creation = 0
