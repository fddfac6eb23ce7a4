/*
about: |
  Assignments that did not begin at their group's commit, but where a coordinator may have told.

  It had returned that offset, or no commit, to somebody who asked within 10 s of the start, though
  the commit had been acknowledged (`stale_fetches`). Or it was elected within 10 s before the
  start, and the start is an older commit, or one for want of a commit.
subject: assignments
optional: [stale_fetches]
columns:
  start: of the first delivery, else the member's own
  returned: what the coordinator had returned, in words
  is_returned: 'false: it may have returned the commit by then, or nobody else had asked'
*/
{% set near_micros = 10 * micros_per_second %}
with starts as (
  select group, topic, partition, member, from_seq, from_micros, committed_offset,
    committed_micros, coalesce(first_offset, position) as start,
    if(position = coalesce(first_offset, position), from_micros,
      coalesce(first_micros, from_micros)) as began_micros
  from commits_at_start
),
without_commit as (
  select distinct group, topic, partition, member, from_seq, true as has_none
  from starts join client_resets using (group, topic, partition, member)
  where cause = 'no_commit' and at_micros between from_micros - {{ near_micros }}
    and began_micros + {{ commit_clock_micros }}
),
apart as (
  select s.*, coalesce(has_none, false) as has_none
  from starts as s
  left join without_commit using (group, topic, partition, member, from_seq)
  where start != committed_offset
),
stale as (
  select group, topic, partition, due_offset as committed_offset, offset as returned_offset,
    at_micros as returned_micros, coalesce(concat('broker ', cast(broker as string)),
      'the coordinator') as broker
  from stale_fetches
),
told as (
  select group, topic, partition, member, from_seq, max(returned_micros) as returned_micros,
    max_by(format_string('%s had returned %s when asked %.1f s %s', broker,
      if(returned_offset < 0, 'no commit', 'that offset'),
      abs(began_micros - returned_micros) / {{ micros_per_second }},
      if(returned_micros <= began_micros, 'before', 'after')), returned_micros) as returned
  from apart join stale using (group, topic, partition, committed_offset)
  where returned_offset = if(has_none, -1, start)
    and abs(began_micros - returned_micros) <= {{ near_micros }}
  group by all
),
answers as (
  select group, topic, partition, offset as committed_offset, at_micros
  from commit_requests
  where api = 'OFFSET_FETCH' and error_code = 0 and not coalesce(is_stable, false)
  union all
  select group, topic, partition, offset, at_micros
  from offset_reads
  where error is null and not coalesce(is_stable, false)
),
corrected as (
  select distinct group, topic, partition, member, from_seq, true as is_corrected
  from apart
  join told using (group, topic, partition, member, from_seq)
  join answers using (group, topic, partition, committed_offset)
  where at_micros > returned_micros and at_micros < began_micros
),
elected as (
  select group, from_micros as elected_micros
  from places_of_groups join leader_epochs on partition = offsets_partition
  where topic = {{ offsets_topic }} and epoch > 0
),
older as (
  select group, topic, partition, offset as start, min(committed_micros) as older_micros
  from present_offsets
  where {{ is_stored }}
  group by all
),
loading as (
  select a.group, a.topic, a.partition, a.member, a.from_seq,
    max(elected_micros) as elected_micros
  from apart as a join elected as e on e.group = a.group
  left join older as o on (o.group, o.topic, o.partition, o.start)
    = (a.group, a.topic, a.partition, a.start)
  where elected_micros between began_micros - {{ near_micros }} and began_micros
    and committed_micros <= elected_micros + :clock_micros
    and coalesce(has_none or older_micros < committed_micros, false)
  group by all
)
select group, topic, partition, member, from_seq, from_micros, start,
  coalesce(returned, format_string(
    'another coordinator was elected %.1f s before, and may have returned that',
    (began_micros - elected_micros) / {{ micros_per_second }})) as returned,
  returned is not null and not coalesce(is_corrected, false) as is_returned
from apart
left join told using (group, topic, partition, member, from_seq)
left join corrected using (group, topic, partition, member, from_seq)
left join loading using (group, topic, partition, member, from_seq)
where returned is not null or elected_micros is not null
