/*
about: When the run first had records deleted, of a partition or of all partitions of a topic.
subject: permits
kept: false
columns:
  partition: 'null: each one'
  ordered_to: 'the log start that was asked for; null: any'
*/
select topic, if(fault = 'delete records', partition, null) as partition,
  {{ ordered_to() }} as ordered_to,
  min(injected_micros) as ordered_micros
from faults
where fault in ('delete records', 'expire by time', 'expire by size', 'expire by order')
group by all
