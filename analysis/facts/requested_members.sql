/*
about: |
  Whether the member of each commit request, or any, was in its group.

  Each record of a classic group has all its members, and a member of the consumer protocol is
  removed by a record of its own. A member that was admitted by a response may have left since.

  `is_` and `has_` mean from the request to the response, `may_` at some moment in between.
subject: commit_calls
columns:
  is_gone: whether its group had lost the member before the request
  may_be_gone: whether its group may have lost it before the response
  has_members: whether its group had members all that time
  may_have_members: whether it had any at some moment of it
*/
with requests as (
  select {{ commit_call }}, group, member, began_micros - :clock_micros as sure_micros,
    at_micros + :clock_micros as may_micros
  from commit_requests
),
seen as (
  select {{ commit_call }}, states.member, states.member = requests.member as is_own, at_micros,
    at_micros <= sure_micros as is_sure, is_logged,
    generation is not null and states.member != '' as is_there,
    is_logged and protocol = 'classic' as is_of_all
  from requests join group_states as states using (group)
  where at_micros <= may_micros
),
last_seen as (
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
  from last_seen
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
)
select {{ commit_call }}, coalesce(is_gone, false) as is_gone,
  coalesce(may_be_gone, false) as may_be_gone, coalesce(has_members, false) as has_members,
  coalesce(may_have_members, false) as may_have_members
from requests left join members using ({{ commit_call }})
