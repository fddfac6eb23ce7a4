/*
about: Each topic id of a partition.
subject: topics
columns: |
  topic string
  partition int
  creation bigint
  topic_id string
  created_micros bigint: when its partition was created; of the first one, when the metadata log
    first has it
  created_offset bigint: of that creation, in the metadata log; likewise
  is_last boolean
*/
select topic, partition, creation, max(topic_id) as topic_id,
  min(at_micros) as created_micros, min(metadata_offset) as created_offset,
  creation = max(creation) over (partition by topic, partition) as is_last
from leadership_changes
group by topic, partition, creation
