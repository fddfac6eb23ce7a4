/*
about: |
  The partitions of members with the consumer protocol, and from when until when they had them, as
  their coordinator stored it; also those that a member had still to revoke.
subject: assignments
columns:
  granted_to: the member, by its `client.id`, else by its id
  is_named: whether it is its `client.id`, the name of a member of the harness
  since: when the state was stored
  until: when the next one was, in which it may have the partition too; null where none was
  in_state: the state, in words; empty where it is not known
  is_pending: it had to revoke the partition
*/
with states as (
  select group, member, offsets_offset, at_micros as since, lead(at_micros) over (
      partition by group, member order by offsets_offset) as until
  from (select distinct group, member, offsets_offset, at_micros from group_members)
),
names as (
  select group, member, max(client_id) as client_id from member_metadata group by all
),
named_states as (
  select group, member, offsets_offset, state, previous_epoch, array_agg(struct(
      topic_id, partition)) as pending
  from member_states
  group by all
)
select distinct group, topic, partition, coalesce(client_id, member) as granted_to,
  client_id is not null as is_named, since, until,
  if(state is null, '', format_string(', which was %s at member epoch %s after %s', state,
    generation, previous_epoch)) as in_state,
  coalesce(array_contains(pending, struct(topic_id, partition)), false) as is_pending
from group_members
join (select distinct topic, topic_id from leaderships) using (topic_id)
join states using (group, member, offsets_offset)
left join names using (group, member)
left join named_states using (group, member, offsets_offset)
