/*
about: |
  To whom the assignment of a group gave each partition, from when until when, as the coordinator
  stored it: that of a generation, or the target of the consumer protocol.
subject: assignments
columns:
  assigned_to: the member, by its `client.id`, else by its id
  since: when the assignment was stored
  until: when the next one was; null where none was
*/
with held as (
  select *, if(protocol = 'classic', '', member) as of_member from group_assignments
),
stored as (
  select *, lead(at_micros) over (
      partition by group, protocol, of_member order by offsets_offset) as until
  from (select distinct group, protocol, of_member, offsets_offset, at_micros from held)
),
ids as (
  select distinct topic, topic_id from leaderships
),
names as (
  select group, member, max(client_id) as client_id from member_metadata group by all
)
select distinct group, coalesce(held.topic, ids.topic) as topic, partition,
  coalesce(client_id, member) as assigned_to, s.at_micros as since, until
from held
join stored as s using (group, protocol, of_member, offsets_offset)
left join ids using (topic_id)
left join names using (group, member)
where partition is not null
