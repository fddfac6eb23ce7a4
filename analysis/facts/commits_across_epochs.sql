/*
about: Stored commits of partitions that had several leader epochs.
subject: exercise
kept: false
*/
select group, topic, partition, offset
from client_offsets left semi join leader_changes using (topic, partition)
