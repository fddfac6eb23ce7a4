/*
id: H3
definition: A group's commit waited for its coordinator for 2 s or more.
explanation: An error about the group, such as a rebalance, is a response; any other is a wait
  until then. Waits in a row are one outage. A violation if the group's own partition of
  `__consumer_offsets` could serve for more than 30 s of it, as in `produce_unavailable` with
  acks=all.
permitted: it could serve for 30 s or less.
evaluates: every commit whose begin is reported, except those with nothing to commit.
source: >-
  `CoordinatorRuntime`: a response waits until the records of its write are committed; decision 8.
needs: [commits, leaderships]
evaluated: select count(*) as evaluated from attempts
cases:
- violation: unavailable
  cause: >-
    {records} operations waited for {seconds:.1f} s in total; no service was possible for
    {unservable_seconds:.1f} s of it
  permitted_if: seconds - unservable_seconds <= required_seconds
summary: '{{ summary_of_outages }}'
evidence: records, unanswered, seconds, unservable_seconds, recovery_seconds, needs_insync
*/
with attempts as (
  select group, began_micros as at, committed_micros as ended, 1 as records,
    if(outcome = 'ok', 0, 1) as unanswered,
    coalesce(error, '') rlike 'RebalanceInProgress|{{ no_member }}' as is_about_group
  from commits
  where began_micros is not null and outcome != 'nothing'
),
waits as (
  select * from attempts where not is_about_group
),
answers as (
  select group, at as began_micros, ended as answered_micros
  from attempts
  where unanswered = 0 or is_about_group
),
known_partitions as (
  select distinct group, offsets_partition from committed_offsets
),
partitions as (
  select max(partition) + 1 as count from leaderships where topic = {{ offsets_topic }}
),
outages as (
  select waited.*, {{ offsets_topic }} as topic, true as needs_insync,
    coalesce(offsets_partition, hash % count) as partition
  from {{ outages_of("waits", "group", answers="answers") }} as waited
  left join known_partitions using (group)
  left join (select distinct group, hash from planned_groups) using (group)
  cross join partitions
),
excuses as (
  select * from {{ with_excuses("outages") }}
)
select * from {{ with_service("outages", "excuses", "group") }}
