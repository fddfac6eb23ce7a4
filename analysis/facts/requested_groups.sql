/*
about: |
  What was known of the group of each commit request, and of the member's epoch in it.

  What `may_` names is so at some moment between the request and its response.
subject: commit_calls
columns:
  has_group: whether the group existed before the request
  may_have_group: whether it existed at some moment before the response
  protocol: 'of the group: classic or consumer; null where no members are known'
  has_member: whether its group had the member before the request
  may_have_member: whether its group had the member at some moment before the response
  generation_low: lower bound of the member's epoch, or of the group's generation, which only
    increase
  generation_high: upper bound of the same
*/
with requests as (
  select {{ commit_call }}, group, member, began_micros,
    began_micros - :clock_micros as sure_micros, at_micros + :clock_micros as may_micros
  from commit_requests
),
signs as (
  select group, committed_micros as sign_micros from committed_offsets
  union all
  select group, at_micros from group_members
  union all
  select group, began_micros from wire_calls
  where api in ('JOIN_GROUP', 'CONSUMER_GROUP_HEARTBEAT')
),
known_groups as (
  select group, min(sign_micros) as known_micros from signs group by all
),
seen as (
  select {{ commit_call }}, protocol, generation, states.member = requests.member as is_own,
    protocol = 'classic' or states.member = requests.member as is_of_generation,
    -- The observer's responses are compared by its own clock.
    at_micros <= if(is_logged, sure_micros, began_micros) as is_sure
  from requests join group_states as states using (group)
  where generation is not null and at_micros <= may_micros
),
generations as (
  select {{ commit_call }},
    if(min(protocol) = max(protocol), max(protocol), null) as protocol,
    max(is_own and is_sure) as has_member, max(is_own) as may_have_member,
    max(generation) filter (where is_of_generation and is_sure) as generation_low,
    max(generation) filter (where is_of_generation) as generation_high
  from seen
  group by all
)
select {{ commit_call }},
  coalesce(known_micros <= sure_micros, false) as has_group,
  coalesce(known_micros <= may_micros, false) as may_have_group, protocol,
  coalesce(has_member, false) as has_member, coalesce(may_have_member, false) as may_have_member,
  generation_low, generation_high
from requests
left join known_groups using (group)
left join generations using ({{ commit_call }})
