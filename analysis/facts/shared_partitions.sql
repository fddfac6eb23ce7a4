/*
about: Partitions that were assigned to several members of a group, one after the other or together.
subject: exercise
kept: false
*/
select group, topic, partition
from group_events
where change = 'assigned'
group by all
having count(distinct member) > 1
