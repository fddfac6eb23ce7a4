/*
about: |
  What happened around each finding that is asked about, in words, but for what happened to the run.

  Leaderships are those of its partition; members, resets and commits those of its group, or of
  every group if it names none; records those of its offsets. If it is about commits, so is what
  happened to the group's partition of `__consumer_offsets`.
subject: moments
kept: false
columns:
  number: of the finding
  worker: whose history has it; null if none does
  seq: its place there
  epoch: the leader epoch that begins, of the finding's partition
  offset: the position on that partition that a member has from then on
  place: among moments of one time and source
*/
{% set empty = "cast(null as string) as worker, cast(null as bigint) as seq" %}
with logs as (
  select number, topic, partition, '' as name from asked_findings where partition is not null
  union all
  select number, {{ offsets_topic }}, offsets_partition,
    concat({{ offsets_topic }}, '-', cast(offsets_partition as string))
  from findings_about_commits
  where topic != {{ offsets_topic }} or topic is null
)
select number, at_micros, who, case
    when name = '' then what
    when kind = 'truncation' then replace(what, 'its log', name)
    else concat(name, ', ', what)
  end as what, kind, {{ empty }}, if(name = '', epoch, null) as epoch,
  cast(null as bigint) as offset, place
from moments_of_partitions join logs using (topic, partition)
where name = '' or kind != 'deletion'
union all
select number, at_micros, who, what, kind, worker, seq, null, offset, 0
from moments_of_groups as m join asked_findings using (topic, partition)
where coalesce(of_group = m.group, true)
union all
select number, at_micros, who, what, kind, worker, seq, null, offset, 0
from moments_of_groups as m join asked_findings as asked on of_group = m.group
where m.topic = '' and asked.partition is not null
union all
select number, at_micros, who, what, kind, worker, seq, null, null, place from moments_of_commits
union all
select number, at_micros, who, what, kind, worker, seq, null, null, 0 from moments_of_records
union all
select number, at_micros, who, what, kind, worker, seq, null, null, 0
from moments_of_requests join asked_findings
  on of_producer = producer and of_transaction = transaction
union all
select number, at_micros, who, what, kind, worker, seq, null, null, 0
from moments_of_requests as m join asked_findings on asked_micros = at_micros
where kind = 'response' and coalesce(of_group = m.group, of_group is null)
