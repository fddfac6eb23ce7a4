/*
id: M4
definition: A source of the run is missing, is incomplete or can't be read.
explanation: Gaps or unreadable lines in a history; a history without its end; a missing history,
  folder of a server or rest of a segment; an empty table though others imply rows of it; a broker
  that restarted without a fault; a stored commit that no client reports.
evaluates: every history and every server.
source: '`analysis.facts.gaps`, decision 11.'
needs: [histories]
optional: [commits, servers, unread_segments]
evaluated: >-
  select count(*) as evaluated
  from (select worker from histories union all select name from servers)
cases:
- undecided: incomplete history
  cause: >-
    {worker}: {missing_seqs} events missing, {malformed_lines} lines malformed{coalesce(concat(',
    the first: ', malformed_at), '')}
  evidence: worker, events, missing_seqs, torn_lines, malformed_lines, malformed_at
- permitted: line left incomplete by a kill
  cause: '{worker}: {count} {kind}'
  evidence: worker, count
- permitted: duplicate lines
  cause: '{worker}: {count} {kind}'
  evidence: worker, count
- permitted: unknown fields
  cause: '{worker}: {count} {kind}'
  evidence: worker, count
- undecided: missing
  cause: '{cause}'
  evidence: source
- permitted: batch left incomplete by a kill
  cause: '{cause}'
  evidence: source
- permitted: unknown files
  cause: '{cause}'
  evidence: source
- permitted: last commit of a killed worker
  cause: offset {stored_offset} with epoch {stored_epoch} is stored, but no client reported this
    commit
  evidence: stored_offset, stored_epoch, last_micros
- undecided: commit not reported
  cause: offset {stored_offset} with epoch {stored_epoch} is stored, but no client reported this
    commit
  evidence: stored_offset, stored_epoch, last_micros
place:
  offset_first: stored_offset
  offset_last: stored_offset
  at: stored_micros
*/
with incomplete as (
  select 'incomplete history' as kind, * from incomplete_histories
),
odd as (
  select 'line left incomplete by a kill' as kind, worker, torn_lines as count
  from histories
  where not coalesce(ended_by_itself, false)
  union all
  select 'duplicate lines', worker, duplicate_lines from histories
  union all
  select 'unknown fields', worker, unknown_fields from histories
),
files as (
  select 'missing' as kind, source, null as topic, null as partition, reason as cause
  from missing_sources
  union all
  select 'batch left incomplete by a kill', segment, topic, partition,
    format_string('broker %s: the last %s bytes of %s are an incomplete batch',
      broker, unread_bytes, segment)
  from unread_segments
  where error is null
  union all
  select 'unknown files', name, null, null,
    if(server is null, format_string('%s belongs to no server of the run', name),
      format_string('%s: %s files left out', name, ignored_files))
  from servers
  where server is null or ignored_files > 0
),
killed as (
  select worker from histories where not ended_by_itself
),
last_commits as (
  select group, worker, max(coalesce(began_micros, committed_micros)) as last_micros
  from commits left semi join killed using (worker)
  group by all
),
first_killed as (
  select group, min(last_micros) as last_micros from last_commits group by all
),
unreported as (
  select *, if(stored_micros > last_micros, 'last commit of a killed worker', 'commit not reported')
      as kind
  from unreported_commits left join first_killed using (group)
)
-- All rows of each: their kinds differ.
select *
from incomplete
full outer join (select * from odd where count > 0) as odd using (kind, worker)
full outer join files using (kind)
full outer join unreported using (kind, topic, partition)
