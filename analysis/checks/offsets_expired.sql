/*
id: D12
definition: A committed offset was removed, though the group had members, which subscribe the
  topic.
explanation: >-
  Its members are those of the stored state of the group that precedes the removal in the log.
  Groups without a stored state have no members that a coordinator knows: their consumers are
  assigned by hand.
evaluates: every commit that was removed, of topics that were created once.
source: 'KIP-211: offsets expire once a group is empty, or of topics that no member subscribes.'
needs: [committed_offsets, group_members, group_events]
evaluated: select count(*) as evaluated from removed
cases:
- violation: had members
  when: members > 0
  cause: the committed offset was removed while the group had members
- undecided: may have had members
  when: members is null and last_change = 'opened'
  cause: the committed offset was removed, and no stored state shows whether the group had members
- permitted: had no members
  cause: the committed offset was removed after the last member had left
evidence: members, protocol
place:
  at: committed_micros
*/
with removed as (
  select *
  from present_offsets
  left semi join created_once using (topic, partition)
  left semi join planned_readers using (group, topic)
  where is_tombstone and value_version is null
),
states as (
  select group, offsets_partition, offsets_offset as state_offset, protocol, member, generation
  from group_members
),
preceding as (
  select {{ commit_key }}, protocol, member, generation, rank() over (
      partition by {{ commit_key }}, if(protocol = 'classic', '', member)
      order by state_offset desc) as age
  from removed join states using (group, offsets_partition)
  where state_offset < offsets_offset
),
known as (
  select {{ commit_key }}, max(protocol) as protocol,
    count(distinct if(member != '' and generation is not null, member, null)) as members
  from preceding
  where age = 1
  group by all
),
events as (
  select group, change, at_micros from group_events where change in ('opened', 'closed')
),
opened as (
  select {{ commit_key }}, max_by(change, at_micros) as last_change
  from removed join events using (group)
  where at_micros <= committed_micros
  group by all
)
select *
from removed
left join known using ({{ commit_key }})
left join opened using ({{ commit_key }})
