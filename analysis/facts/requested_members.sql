/*
about: |
  What was known of the group and the member of each commit request, by `__consumer_offsets` and by
  the responses to its members.

  Each record of a classic group has all its members, and a member of the consumer protocol is
  removed by a record of its own. A member that was admitted by a response may have left since.

  What is so at some time, was so between the request and its response.
subject: commit_calls
columns: |
  worker string
  seq bigint
  topic string
  partition int
  asked_id string
  has_group boolean: whether there was the group throughout
  may_have_group boolean: whether there was the group at some time
  has_member boolean: whether its group had the member before
  may_have_member boolean: whether its group had the member at some time
  is_gone boolean: whether its group had lost the member before
  may_be_gone boolean: whether its group may have lost the member
  has_members boolean: whether its group had members throughout
  may_have_members boolean: whether its group had members at some time
  protocol string: of the group: classic or consumer; null where no members are known
  generation_low int: lower bound of the member's epoch, or of the group's generation, which only
    increase
  generation_high int: upper bound of the same
  assignment_epoch int: the member epoch at which the partition was assigned to the member; null
    where it was not, or the release does not keep it
*/
with requests as (
  select {{ commit_call }}, group, member, began_micros - :clock_micros as sure_micros, at_micros + :clock_micros as may_micros
  from commit_requests
),
answers as (
  select group, if(api = 'JOIN_GROUP', 'classic', 'consumer') as protocol, member,
    if(error_code = 0 and generation >= 0, generation, null) as granted, began_micros, at_micros
  from wire_calls
  where api in ('JOIN_GROUP', 'CONSUMER_GROUP_HEARTBEAT') and group is not null
),
signs as (
  select group, committed_micros as sign_micros from committed_offsets
  union all
  select group, at_micros from group_members
  union all
  select group, began_micros from answers
),
known_groups as (
  select group, min(sign_micros) as known_micros from signs group by all
),
-- The observer's answers are compared by its own clock.
states as (
  select group, protocol, member, granted as generation, at_micros,
    at_micros - :clock_micros as sure_from, true as is_answer
  from answers
  where granted is not null
  union all
  select group, protocol, member, generation, at_micros, at_micros, false from group_members
),
seen as (
  select {{ commit_call }}, states.member, states.member = requests.member as is_own, protocol,
    generation, states.at_micros, sure_from <= sure_micros as is_sure,
    generation is not null and states.member != '' as is_there, not is_answer as is_logged,
    not is_answer and protocol = 'classic' as is_of_all
  from requests join states using (group)
  where states.at_micros <= may_micros
),
of_members as (
  select {{ commit_call }}, member, is_own,
    max(at_micros) filter (where is_of_all) as of_all_at,
    max(at_micros) filter (where is_of_all and is_sure) as of_all_sure,
    max(at_micros) filter (where not is_there and not is_of_all) as left_at,
    max(at_micros) filter (where not is_there and not is_of_all and is_sure) as left_sure,
    max(at_micros) filter (where is_there) as here_at,
    max(at_micros) filter (where is_there and is_logged) as here_logged,
    max(at_micros) filter (where is_there and is_logged and is_sure) as here_sure
  from seen
  group by all
),
absences as (
  select *,
    coalesce(greatest(left_at, max(of_all_at) over of_call), 0) as absent_at,
    coalesce(greatest(left_sure, max(of_all_sure) over of_call), 0) as absent_sure
  from of_members
  window of_call as (partition by {{ commit_call }})
),
members as (
  select {{ commit_call }},
    max(is_own and here_at < absent_sure) as is_gone,
    max(is_own and here_at < absent_at) as may_be_gone,
    max(here_sure >= absent_sure and here_logged >= absent_at) as has_members,
    max(here_at >= absent_sure) as may_have_members
  from absences
  where member != ''
  group by all
),
generations as (
  select {{ commit_call }},
    if(min(protocol) = max(protocol), max(protocol), null) as protocol,
    max(is_own and is_sure) as has_member, max(is_own) as may_have_member,
    max(generation) filter (where is_sure and (protocol = 'classic' or is_own)) as generation_low,
    max(generation) filter (where protocol = 'classic' or is_own) as generation_high
  from seen
  where generation is not null
  group by all
),
assigned as (
  select group, member, topic_id, partition as assigned_partition, assignment_epoch,
    offsets_offset, at_micros
  from group_members
  where protocol = 'consumer'
),
last_assigned as (
  select *, max(offsets_offset) over (partition by {{ commit_call }}) as last_offset
  from requests join assigned using (group, member)
  where at_micros <= may_micros
),
assignments as (
  select {{ commit_call }}, max(assignment_epoch) as assignment_epoch
  from last_assigned left semi join creations using (topic, topic_id)
  where offsets_offset = last_offset and assigned_partition = partition
  group by all
)
select {{ commit_call }},
  coalesce(known_micros <= sure_micros, false) as has_group,
  coalesce(known_micros <= may_micros, false) as may_have_group,
  coalesce(has_member, false) as has_member, coalesce(may_have_member, false) as may_have_member,
  coalesce(is_gone, false) as is_gone, coalesce(may_be_gone, false) as may_be_gone,
  coalesce(has_members, false) as has_members,
  coalesce(may_have_members, false) as may_have_members,
  protocol, generation_low, generation_high, assignment_epoch
from requests
left join known_groups using (group)
left join members using ({{ commit_call }})
left join generations using ({{ commit_call }})
left join assignments using ({{ commit_call }})
