/*
about: |
  What each replica of the partition of `__consumer_offsets` that a finding's group commits to has
  at the end, in words: of that group, and of all groups.
subject: moments
kept: false
optional: [leaderships, committed_offsets]
columns:
  number: of the finding
*/
with replicas as (
  select partition as offsets_partition, explode(max_by(replicas, metadata_offset)) as broker
  from leaderships
  where topic = {{ offsets_topic }}
  group by partition
),
held as (
  select offsets_partition, broker, group, count(*) as commits, max(offsets_offset) as last
  from (
    select offsets_partition, explode(brokers) as broker, group, offsets_offset
    from committed_offsets
    where brokers is not null)
  group by offsets_partition, broker, group
),
counted as (
  select number, offsets_partition, broker, of_group,
    cast(coalesce(sum(commits) filter (where group = of_group), 0) as bigint) as commits,
    max(last) filter (where group = of_group) as last_own, max(last) as last
  from findings_about_commits
  join replicas using (offsets_partition)
  left join held using (offsets_partition, broker)
  group by number, offsets_partition, broker, of_group
)
select number, broker, format_string('%s-%s on broker %s: %s commit%s of %s%s%s',
    {{ offsets_topic }}, offsets_partition, broker, commits, if(commits = 1, '', 's'), of_group,
    if(last_own is null, '', format_string(', the last at offset %s', last_own)),
    if(last is null, '', format_string('; the last of any group at offset %s', last))) as what
from counted
