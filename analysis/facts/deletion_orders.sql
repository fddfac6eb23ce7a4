/*
about: When the run first had records of a topic deleted.
subject: permits
kept: false
*/
select topic, min(injected_micros) as ordered_micros
from faults
where fault in ('expire by time', 'expire by size', 'expire by order')
group by all
