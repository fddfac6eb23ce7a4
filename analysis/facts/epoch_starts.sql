/*
about: The leader epochs in the checkpoints of the surviving replicas.
subject: trace
columns:
  epochs: of the surviving log
*/
select topic, partition, collect_set(struct(leader_epoch, start_offset)) as epochs
from epoch_checkpoints left semi join survivors using (topic, partition, broker)
group by all
