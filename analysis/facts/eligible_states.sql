/*
about: States of a partition that had eligible leader replicas (KIP-966).
subject: exercise
kept: false
*/
select topic, partition, metadata_offset from leaderships where size(elr) > 0
