/*
about: |
  Commits around the findings that are asked about, in words. Of equal ones in a row, which differ
  in their offset at most, the first, the last, and those of the finding's time.

  If a finding is about commits, they are both as members report them and as they are stored; those
  on every partition, if the group has none on the finding's.
subject: moments
kept: false
optional: [commits, committed_offsets]
columns:
  number: of the finding
  kind: commit, or stored
  worker: whose history has it; null if none does
  seq: its place there
  place: in that history, or in the log
*/
{% set here = "kind, group, topic, partition" %}
{% set position %}
if(offset is null, 'nothing', format_string('offset %s %s', offset, if(
  coalesce(committed_epoch, -1) < 0, 'without an epoch',
  format_string('with epoch %s', committed_epoch)))){% endset %}
with stored as (
  select *, format_string('%s, at offset %s, %s', group, offsets_offset, case
      when brokers is null then 'on brokers that are not known'
      when size(brokers) = 1 then format_string('on broker %s', array_join(brokers, ''))
      else format_string('on brokers %s', array_join(array_sort(brokers), ', '))
    end) as place
  from committed_offsets
),
reported as (
  select group, topic, partition, committed_micros as at_micros, 'reported' as kind, member as who,
    concat('commits ', {{ position }}) as what,
    format_string(': %s%s', outcome,
      if(coalesce(error, '') = '', '', format_string(' (%s)', error))) as rest,
    worker, seq, seq as place,
    concat_ws('|', cast(committed_epoch as string), outcome, error) as alike
  from commits
  union all
  select group, topic, partition, committed_micros, 'commit', group,
    concat('commits ', {{ position }}), '', null, null, offsets_offset,
    cast(committed_epoch as string)
  from committed_offsets
  where not is_tombstone
  union all
  select group, topic, partition, committed_micros, 'stored',
    format_string('%s-%s', {{ offsets_topic }}, offsets_partition),
    if(is_tombstone, format_string('stores that the commit of %s', group),
      concat('stores ', {{ position }})),
    if(is_tombstone, replace(concat(' is deleted', place), group, ''), concat(' of ', place,
      if(coalesce(producer_id, -1) < 0, '',
        format_string(', in a transaction (%s)', coalesce(nullif(marker, ''), 'no marker'))))),
    null, null, offsets_offset,
    concat_ws('|', cast(committed_epoch as string), cast(is_tombstone as string),
      cast(offsets_partition as string), array_join(array_sort(brokers), ','))
  from stored
),
parted as (
  select *, row_number() over (partition by {{ here }} order by place, at_micros)
    - row_number() over (partition by {{ here }}, alike order by place, at_micros) as part
  from reported
),
numbered as (
  select *,
    row_number() over (partition by {{ here }}, alike, part order by place, at_micros) as nth,
    count(*) over (partition by {{ here }}, alike, part) as alikes
  from parted
),
asked as (
  select number, n.*, '' as elsewhere, true as is_shown
  from numbered as n join asked_findings using (topic, partition)
  where kind = 'commit' and not is_about_commits and coalesce(of_group = group, true)
    and nth in (1, alikes)
  union all
  select number, n.*, if((n.topic, n.partition) = (a.topic, a.partition), '',
      format_string(' on %s-%s', n.topic, n.partition)),
    nth in (1, alikes) or at_micros = asked_micros
  from numbered as n join findings_about_commits as a on of_group = group
  where kind != 'commit' and a.partition is not null
),
compared as (
  select *, max(elsewhere = '') over (partition by number) as is_any_here from asked
)
select number, at_micros, if(kind = 'stored', kind, 'commit') as kind, who,
  concat(what, elsewhere, rest, if(alikes = 1, '', format_string(', the %s of %s commits',
    case nth when 1 then 'first' when alikes then 'last' else 'next' end, alikes))) as what,
  worker, seq, place
from compared
where is_shown and (elsewhere = '' or not is_any_here)
