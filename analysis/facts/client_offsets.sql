/*
about: |
  Rows of `committed_offsets`, without those of groups that only administrators commit for.

  A group of the plan has clients. Its commits are theirs, but for those of administrators.
subject: client_offsets
optional: [wire_calls]
like: committed_offsets
columns:
  actor: 'member: its client reported the commit; transaction; administrator: a single request of
    the run, or a call of Admin; null: no source reports it'
  by_member: that reported it
  by_seq: of the report in its history
*/
with requests as (
  select distinct group
  from wire_calls
  where api in ('OFFSET_COMMIT', 'TXN_OFFSET_COMMIT', 'alterConsumerGroupOffsets')
    and group is not null
),
unplanned as (
  select * from requests left anti join planned_groups using (group)
),
stored as (
  select * from committed_offsets left anti join unplanned using (group)
),
asked as (
  select group, topic, partition, offset, epoch as committed_epoch, member as by_member,
    seq as by_seq,
    {{ asked_first("at_micros") }} as asked_first, {{ asked_last("at_micros") }} as asked_last
  from requested_commits
  where outcome in ('ok', 'unknown')
),
reported as (
  select {{ commit_key }}, true as is_reported,
    min_by(struct(by_member, by_seq), struct(by_member is not null,
      abs(asked_last - committed_micros), by_member, by_seq)) as report
  from stored join asked using (group, topic, partition, offset, committed_epoch)
  where committed_micros between asked_first and asked_last
  group by all
)
select stored.*, case
    when producer_id >= 0 then 'transaction'
    when report.by_member is not null then 'member'
    when is_reported then 'administrator'
  end as actor,
  report.by_member as by_member, report.by_seq as by_seq
from stored left join reported using ({{ commit_key }})
