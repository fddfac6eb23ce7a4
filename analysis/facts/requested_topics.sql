/*
about: |
  What the cluster had of the topic of each commit request.

  `is_` and `has_` mean from the request to the response, `may_` at some moment in between.
subject: commit_calls
columns:
  is_present: whether the topic existed all that time
  may_exist: whether it existed at some moment of it
  has_partition: whether the topic had the partition all that time
  may_have_partition: whether it had it at some moment of it
*/
with requests as (
  select {{ commit_call }}, asked_id != '' as is_by_id,
    if(asked_id = '', topic, asked_id) as named,
    began_micros - :clock_micros as sure_micros, at_micros + :clock_micros as may_micros
  from commit_requests
),
topics as (
  select topic, topic_id, min(created_micros) as created_micros,
    lead(min(created_micros)) over (partition by topic order by min(created_micros))
      as replaced_micros
  from creations
  group by topic, topic_id
),
named_topics as (
  select topic as named, false as is_by_id, created_micros, replaced_micros from topics
  union all
  select topic_id, true, created_micros, replaced_micros from topics
),
named_partitions as (
  select topic as named, false as is_by_id, partition, created_micros from creations
  union all
  select topic_id, true, partition, created_micros from creations
),
topics_then as (
  select {{ commit_call }},
    max(created_micros <= sure_micros and replaced_micros is null) as is_present,
    max(created_micros <= may_micros and coalesce(replaced_micros > sure_micros, true))
      as may_exist
  from requests join named_topics using (named, is_by_id)
  group by all
),
partitions_then as (
  select {{ commit_call }}, max(created_micros <= sure_micros) as has_partition,
    max(created_micros <= may_micros) as may_have_partition
  from requests join named_partitions using (named, is_by_id, partition)
  group by all
)
select {{ commit_call }}, coalesce(is_present, false) as is_present,
  coalesce(may_exist, false) as may_exist, coalesce(has_partition, false) as has_partition,
  coalesce(may_have_partition, false) as may_have_partition
from requests
left join topics_then using ({{ commit_call }})
left join partitions_then using ({{ commit_call }})
