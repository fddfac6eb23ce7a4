/*
about: Commits of partitions that were assigned to several members of the group.
subject: exercise
kept: false
*/
select group, topic, partition, offset
from commits left semi join shared_partitions using (group, topic, partition)
