/*
about: The leader epochs of committed offsets that a newer one followed.
subject: exercise
kept: false
*/
select partition, epoch
from leader_epochs
where newer_epoch is not null and topic = {{ offsets_topic }}
