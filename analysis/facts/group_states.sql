/*
about: |
  States of members, by `__consumer_offsets` and by the responses that admitted them. A record of a
  classic group without members is a state without a member's id.
subject: commit_calls
columns:
  protocol: classic or consumer
  member: 'its id; empty: the group has no members'
  generation: of the group, or the member epoch; null where the member is removed
  is_logged: whether it is of `__consumer_offsets`
*/
select group, protocol, member, generation, at_micros, true as is_logged from group_members
union all
select group, if(api = 'JOIN_GROUP', 'classic', 'consumer'), member, generation, at_micros, false
from wire_calls
where api in ('JOIN_GROUP', 'CONSUMER_GROUP_HEARTBEAT') and error_code = 0 and generation >= 0
