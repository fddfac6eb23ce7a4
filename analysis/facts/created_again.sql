/*
about: Partitions of topics that were deleted and created again.
subject: topics
kept: false
*/
select topic, partition from creations where is_last and creation > 0
