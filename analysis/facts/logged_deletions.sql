/*
about: Deletions that the servers logged; their structs sort by when they were.
subject: topics
optional: [log_start_changes]
*/
with own as (
  select topic, partition, at_micros, log_start_offset as log_start, reason, broker
  from log_start_changes
  where reason != {{ of_leader }}
)
select topic, partition,
  collect_list(struct(at_micros, log_start, reason, broker)) as _deletions
from {{ of_present_topic("own", "at_micros") }}
group by all
