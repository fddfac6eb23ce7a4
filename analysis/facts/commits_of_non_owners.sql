/*
about: |
  Stored commits of a member that did not hold the partition then, while another member did.

  Who wrote a commit is known where one report of a member fits it, which was acknowledged, and that
  report fits no other. Who held the partition is by the coordinator's log, which has
  the members' partitions in the order in which it has the commits, as far as no other coordinator
  was elected in between. Else it is the member that was assigned the partition
  after the writer, before the commit began, and had not given it back.
subject: assignments
optional: [group_members, group_assignments, member_metadata]
columns:
  member: that committed
  holder: that held the partition
  how: it is known that it did, in words
*/
with fitting as (
  select {{ commit_key }}, c.committed_micros, member, seq, outcome, asked_first, asked_last
  from member_commits as c
  join asked_commits using (group, topic, partition, offset, committed_epoch)
  where c.committed_micros between asked_first and asked_last and outcome in ('ok', 'unknown')
),
counted as (
  select *, count(*) over (partition by {{ commit_key }}) as reports,
    count(*) over (partition by group, topic, partition, member, seq) as commits
  from fitting
),
written as (
  select * from counted where reports = 1 and commits = 1 and outcome = 'ok'
),
-- A record of a classic group has its whole generation, one of the consumer protocol a member.
states as (
  select *, lead(offsets_offset) over (
      partition by group, of_member, offsets_partition order by offsets_offset) as next_offset
  from (
    select distinct group, if(protocol = 'classic', '', member) as of_member, offsets_partition,
      offsets_offset, at_micros
    from group_members)
),
held as (
  select group, member, member as of_member, topic, partition, offsets_partition, offsets_offset
  from group_members
  join (select distinct topic, topic_id from leaderships) using (topic_id)
  union all
  select group, member, '', topic, partition, offsets_partition, offsets_offset
  from group_assignments
  where protocol = 'classic' and partition is not null
),
names as (
  select group, member, max(client_id) as client_id from member_metadata group by all
),
granted as (
  select group, topic, partition, offsets_partition, offsets_offset as from_offset, next_offset,
    at_micros as granted_micros, client_id
  from held
  join states using (group, of_member, offsets_partition, offsets_offset)
  left join names using (group, member)
),
-- A new coordinator may lack what the one before had granted.
elected as (
  select distinct partition as offsets_partition, from_micros
  from leader_epochs
  where topic = {{ offsets_topic }}
),
by_log as (
  select w.group, w.topic, w.partition, w.offsets_partition, w.offsets_offset, w.member,
    max(client_id) as holder, count_if(coalesce(client_id = w.member, true)) as own,
    max(e.from_micros) as elected_micros
  from written as w
  join granted as g on (g.group, g.topic, g.partition, g.offsets_partition)
    = (w.group, w.topic, w.partition, w.offsets_partition)
    and from_offset < w.offsets_offset and coalesce(next_offset > w.offsets_offset, true)
  left join elected as e on e.offsets_partition = w.offsets_partition
    and e.from_micros between granted_micros - :clock_micros and committed_micros + :clock_micros
  group by all
),
-- Of members that are assigned partitions by hand, several may have one.
own as (
  select {{ commit_key }}, member, asked_first, asked_last,
    max(from_micros) filter (where from_seq < seq) as own_micros
  from written
  left semi join subscribed_groups using (group)
  left join reported_assignments using (group, topic, partition, member)
  group by all
),
by_members as (
  select {{ commit_key }}, own.member, max_by(a.member, from_micros) as holder
  from own join reported_assignments as a using (group, topic, partition)
  where a.member != own.member and coalesce(from_micros > own_micros + :clock_micros, true)
    and from_micros < asked_first and coalesce(left_micros > asked_last, true)
  group by all
)
select {{ commit_key }}, member, holder, 'by the log of the coordinator' as how
from by_log
where own = 0 and elected_micros is null
union all
select {{ commit_key }}, member, holder, 'by their assignments'
from by_members
left anti join (select {{ commit_key }} from by_log where elected_micros is null)
  using ({{ commit_key }})
