/*
about: When the run first had records of a topic deleted.
subject: permits
kept: false
columns: |
  topic string
  ordered_micros bigint
*/
select replace(target, 'topic:') as topic, min(injected_micros) as ordered_micros
from faults
where fault like 'expire by %' and target like 'topic:%'
group by all
