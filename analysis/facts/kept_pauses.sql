/*
about: |
  Pauses that the application had not ended when the partition, which its member had given back
  meanwhile, was assigned to it again.

  Of Java's consumer the assignment ends the pause; no other client documents what comes of it.
subject: assignments
columns:
  at_micros: of the assignment
  resumed_micros: 'null: never'
  is_of_java: the client is Java's
*/
with in_order as (
  select group, topic, partition, member, change, seq, at_micros,
    max(if(change = 'paused', seq, null)) over earlier as paused_seq,
    max(if(change = 'resumed', seq, null)) over earlier as resumed_seq,
    max(if(change in ('revoked', 'lost'), seq, null)) over earlier as given_seq
  from group_events
  where change in ('assigned', 'revoked', 'lost', 'paused', 'resumed')
  window earlier as (partition by group, topic, partition, member order by seq
    rows between unbounded preceding and 1 preceding)
),
kept as (
  select group, topic, partition, member, seq, at_micros
  from in_order
  where change = 'assigned' and paused_seq < given_seq
    and coalesce(resumed_seq < paused_seq, true)
)
select k.group, k.topic, k.partition, k.member, k.at_micros, client like 'java%' as is_of_java,
  min(e.at_micros) as resumed_micros
from kept as k
join planned_groups as p on p.group = k.group
left join (select * from group_events where change = 'resumed') as e
  on (e.group, e.topic, e.partition, e.member) = (k.group, k.topic, k.partition, k.member)
    and e.seq > k.seq
group by k.group, k.topic, k.partition, k.member, k.at_micros, client
