/*
about: |
  The error that each commit request should have been answered with, and the rule that decides it,
  by what was known of its topic, its producer, its group and its member.

  A member epoch that is stale for one partition of a request refuses the others too. An OffsetFetch
  has a row only if its topic id is unknown.
subject: commit_calls
columns:
  due_error: 0 where none is due
  is_decided: whether the facts decide the rule; if not, rule and error are those of an accepted
    commit
  is_transactional: whether it is a TxnOffsetCommit
  is_member: whether it names a member
  is_static: whether the member has a group.instance.id
*/
-- Since these versions the coordinator may answer GROUP_ID_NOT_FOUND and STALE_MEMBER_EPOCH
-- (`has_group_errors`); before, it answers with older errors.
with asked as (
  select *, api = 'TXN_OFFSET_COMMIT' as is_transactional,
    coalesce(generation, -1) >= 0 as has_generation,
    coalesce(generation, -1) >= 0 or coalesce(member, '') != '' or is_static as is_member,
    version >= if(api = 'TXN_OFFSET_COMMIT', 6, 9) as has_group_errors,
    length(metadata) > metadata_max_bytes as is_too_large
  from commit_requests
  cross join run_conditions
  join requested_topics using ({{ commit_call }})
  join requested_groups using ({{ commit_call }})
  join requested_members using ({{ commit_call }})
  left join requested_assignments using ({{ commit_call }})
  left join requested_producers using ({{ commit_call }})
),
named as (
  select *,
    if(has_group_errors, 'group not found', 'group not found, before its error') as no_group,
    if(has_group_errors, 'stale member epoch', 'stale member epoch, before its error')
      as stale_epoch
  from asked
),
-- The rule for each partition by itself. Of two columns such as has_group and may_have_group the
-- first holds from the request to the response, the second at some moment in between: if only the
-- second holds, the rule is undecided.
by_partition as (
  select *,
    case
      when asked_id != '' and not may_exist then 'unknown topic id'
      when api = 'OFFSET_FETCH' then null
      when not may_exist or not may_have_partition then 'unknown partition'
      when not is_present or not has_partition then 'undecided'
      when is_transactional and is_old_producer then 'older producer epoch'
      when is_transactional and is_old_producer is not null then 'undecided'
      when is_transactional and not is_member then 'accepted commit'
      when not has_generation and not may_have_members then 'accepted commit'
      when not is_member and has_members then 'unknown member'
      when not has_generation and not has_members then 'undecided'
      when not may_have_group then no_group
      when not has_group then 'undecided'
      when not may_have_member or is_gone then 'unknown member'
      when not has_member or may_be_gone or protocol is null then 'undecided'
      when protocol = 'consumer' and not is_transactional and not has_group_errors
        then stale_epoch
      when protocol = 'classic' and not generation between generation_low and generation_high
        then 'other generation'
      when generation > generation_high then stale_epoch
      when generation < generation_low and generation_low < generation_high then 'undecided'
      when generation < generation_low
        then if(generation >= assignment_epoch, 'accepted commit', stale_epoch)
      when generation_low = generation_high then 'accepted commit'
      else 'undecided'
    end as own_rule
  from named
),
ruled as (
  select *, if(own_rule = 'accepted commit'
      and max(own_rule = stale_epoch) over (partition by worker, seq), stale_epoch, own_rule)
      as rule
  from by_partition
)
-- The errors by name are `names_of_commit_errors`.
select {{ response }}, error_code,
  if(rule = 'undecided', 'accepted commit', rule) as rule,
  case rule
    when 'unknown topic id' then 100
    when 'unknown partition' then 3
    when 'older producer epoch' then 47
    when 'group not found' then 69
    when 'group not found, before its error' then 22
    when 'unknown member' then 25
    when 'stale member epoch' then 113
    when 'stale member epoch, before its error' then if(is_transactional, 22, 35)
    when 'other generation' then 22
    when 'accepted commit' then if(is_too_large, 12, 0)
    else 0
  end as due_error,
  rule != 'undecided' as is_decided, is_transactional, is_member, is_static
from ruled
where rule is not null
