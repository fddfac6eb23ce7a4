/*
id: H3
definition: A member's commit waited for its group's coordinator for 2 s or more; or a guest that
  commits by itself stored nothing for so long, though it was polled and delivered records.
explanation: >-
  An error about the group, such as a rebalance, is a response; any other is a wait until then.
  Waits of a member in a row, without a response to its group, are one outage. A violation if the
  group's own partition of `__consumer_offsets` could serve for more than 30 s of it, as in
  `produce_unavailable` with acks=all. If a fault was in force meanwhile, for more than three
  times the client's request timeout (`request.timeout.ms`, `socket.timeout.ms`,
  `request_timeout_ms`), where that is longer. Of a guest that commits by itself, a wait is a time of
  three of its intervals or more (`waits_without_commits`).
permitted: it could serve for so long or less.
undecided: it could for more than 30 s, a fault was in force, and the client's request timeout is
  not known; or a guest that commits by itself has no `auto.commit.interval.ms`, or its group's
  members changed meanwhile.
evaluates: every commit whose begin is reported, except those with nothing to commit, and every such
  time of a guest.
source: >-
  `CoordinatorRuntime`: a response waits until the records of its write are committed; Kafka's
  documentation, `enable.auto.commit`: offsets are committed periodically; docs/guests.md; decision 8.
needs: [leaderships]
optional: [commits, waits_without_commits, group_members]
evaluated: >-
  select (select count(*) from attempts) + (select count(*) from waits_without_commits) as evaluated
commits: true
cases:
- violation: nothing stored
  when: interval_seconds is not null
  cause: >-
    the client of {member} stored no commit for {seconds:.1f} s in total, in which it was polled and
    delivered records, {servable_seconds:.1f} s of it while the brokers could serve; its group stores
    one each {interval_seconds:.1f} s otherwise
  permitted_if: servable_seconds <= required_seconds
  undecided_if: commit_ms is null or is_rebalanced or may_be_silent and request_ms is null
- violation: unavailable
  cause: >-
    operations that waited: {records}; for {seconds:.1f} s in total, {servable_seconds:.1f} s of it
    while the brokers could serve
  permitted_if: servable_seconds <= required_seconds
  undecided_if: may_be_silent and request_ms is null
summary: '{{ summary_of_outages }}'
evidence: >-
  member, records, unanswered, seconds, servable_seconds, recovery_seconds, required_seconds,
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
silences as (
  select group, member, at, ended, 1 as records, 0 as unanswered from waits_without_commits
),
waited as (
  select *, false as is_by_client
  from {{ outages_of("waits", "group, member", answers="answers") }}
  union all
  select *, true from {{ outages_of("silences", "group, member") }}
),
placed as (
  select waited.*, {{ offsets_topic }} as topic, true as needs_insync,
    offsets_partition as partition
  from waited left join places_of_groups using (group)
),
outages as (
  select * from {{ with_timeouts("placed", "planned_groups", "group") }}
),
stopped as (
  select group, member, s.began_micros as since, s.ended_micros as until
  from suspensions as s join (select distinct worker, group, member from commits) using (worker)
),
excuses as (
  select * from {{ with_excuses("outages") }}
  union all
  select outages.*, since, until
  from outages join stopped
    on stopped.group = outages.group and stopped.member = outages.member
),
served as (
  select * from {{ with_service("outages", "excuses", "group, member") }}
),
rebalanced as (
  select distinct group, member, at, true as is_rebalanced
  from served join (select group, at_micros from group_members) using (group)
  where is_by_client and at_micros between at and ended
),
intervals as (
  select distinct group, interval_micros / {{ micros_per_second }} as interval_seconds,
    true as is_by_client
  from waits_without_commits
)
select served.*, interval_seconds, commit_ms, coalesce(is_rebalanced, false) as is_rebalanced
from served
left join intervals using (group, is_by_client)
left join rebalanced using (group, member, at)
left join (select group, commit_ms from planned_groups) using (group)
