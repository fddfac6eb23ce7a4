/*
about: Each topic id of a partition.
subject: topics
columns:
  created_micros: when its partition was created; of the first one, when the metadata log first
    has it
  created_offset: of that creation, in the metadata log; likewise
*/
select topic, partition, creation, max(topic_id) as topic_id,
  min(at_micros) as created_micros, min(metadata_offset) as created_offset,
  creation = max(creation) over (partition by topic, partition) as is_last
from leadership_changes
group by topic, partition, creation
