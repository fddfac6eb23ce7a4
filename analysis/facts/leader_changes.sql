/*
about: The leader epochs that a newer one followed, but for those of committed offsets.
subject: exercise
kept: false
*/
select topic, partition, epoch
from leader_epochs
where newer_epoch is not null and topic != {{ offsets_topic }}
