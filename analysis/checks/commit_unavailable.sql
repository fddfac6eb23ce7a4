/*
id: H3
definition: A member's commit waited for its group's coordinator for 2 s or more.
explanation: >-
  An error about the group, such as a rebalance, is a response; any other is a wait until then.
  Waits of a member in a row, without a response to its group, are one outage. A violation if the
  group's own partition of `__consumer_offsets` could serve for more than 30 s of it, as in
  `produce_unavailable` with acks=all. If a fault was in force meanwhile, for more than three
  times the client's request timeout (`request.timeout.ms`, `socket.timeout.ms`,
  `request_timeout_ms`), where that is longer.
permitted: it could serve for so long or less.
undecided: it could for more than 30 s, a fault was in force, and the client's request timeout is
  not known.
evaluates: every commit whose begin is reported, except those with nothing to commit.
source: >-
  `CoordinatorRuntime`: a response waits until the records of its write are committed; decision 8.
needs: [commits, leaderships]
evaluated: select count(*) as evaluated from attempts
commits: true
cases:
- violation: unavailable
  cause: >-
    {records} operations waited for {seconds:.1f} s in total; no service was possible for
    {unservable_seconds:.1f} s of it
  permitted_if: seconds - unservable_seconds <= required_seconds
  undecided_if: may_be_silent and request_ms is null
summary: '{{ summary_of_outages }}'
evidence: >-
  member, records, unanswered, seconds, unservable_seconds, recovery_seconds, required_seconds,
  needs_insync
*/
with attempts as (
  select group, member, began_micros as at, committed_micros as ended, 1 as records,
    if(outcome = 'ok', 0, 1) as unanswered,
    coalesce(error, '') rlike 'RebalanceInProgress|{{ no_member }}' as is_about_group
  from commits
  where began_micros is not null and outcome != 'nothing'
),
waits as (
  select * from attempts where not is_about_group
),
answers as (
  select group, waiting.member, at as began_micros, ended as answered_micros
  from attempts join (select distinct group, member from waits) as waiting using (group)
  where unanswered = 0 or is_about_group
),
placed as (
  select waited.*, {{ offsets_topic }} as topic, true as needs_insync,
    offsets_partition as partition
  from {{ outages_of("waits", "group, member", answers="answers") }} as waited
  left join places_of_groups using (group)
),
outages as (
  select * from {{ with_timeouts("placed", "planned_groups", "group") }}
),
excuses as (
  select * from {{ with_excuses("outages") }}
)
select * from {{ with_service("outages", "excuses", "group, member") }}
