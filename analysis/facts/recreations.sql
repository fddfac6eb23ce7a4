/*
about: Partitions whose topic was deleted and created again, and when it was created last.
subject: topics
*/
select topic, partition, created_micros
from creations
where is_last and creation > 0
