/*
about: 'When a member came to own a partition: a later assignment of what it keeps is none.'
subject: assignments
columns:
  owned_micros: from when on
*/
with numbered as (
  select *, count_if(change != 'assigned') over (
    partition by group, topic, partition, member order by seq) as times_given_up
  from group_events
  where change in ('assigned', 'revoked', 'lost')
)
select group, topic, partition, member, min(at_micros) as owned_micros
from numbered
where change = 'assigned'
group by group, topic, partition, member, times_given_up
