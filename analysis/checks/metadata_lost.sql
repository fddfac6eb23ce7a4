/*
id: G15
definition: Metadata that was committed is not in the metadata logs at the end.
explanation: >-
  Entries below a high watermark that a leader reported are committed, and the newest of them is of
  the leader's epoch. A log that at the end reaches the high watermark has an entry of that epoch
  just below it, or else it was overwritten. A batch that the leader's log held below the high
  watermark just before a fault was healed is in some log at the end, or else it was truncated. And
  more than half of the leader's voters have a log that reaches the high watermark.
evaluates: every high watermark that a leader reported.
source: KIP-595; Raft, Leader Completeness; `LeaderState.maybeUpdateHighWatermark`.
needs: [quorum_samples, metadata_batches]
evaluated: select count(*) as evaluated from quorum_samples where high_watermark > 0
cases:
- violation: overwritten
  cause: >-
    controller {leader} reported high watermark {high_watermark} in epoch {metadata_epoch}; at the
    end, servers {to_json(servers)}: {kind}, {got}
- violation: truncated
  cause: >-
    controller {leader} reported high watermark {high_watermark} in epoch {metadata_epoch}; at the
    end, servers {to_json(servers)}: {kind}, {got}
- violation: in no log
  cause: >-
    controller {leader} reported high watermark {high_watermark} in epoch {metadata_epoch}; at the
    end, servers {to_json(servers)}: {kind}, {got}
- undecided: on a minority
  cause: >-
    controller {leader} reported high watermark {high_watermark} in epoch {metadata_epoch}; at the
    end, servers {to_json(servers)}: {kind}, {got}
evidence: servers, leader, metadata_epoch, high_watermark, got
place:
  offset_last: high_watermark - 1
*/
{% set batch = "base_offset, last_offset, metadata_epoch, size_bytes, checksum" %}
with committed as (
  select leader, leader_epoch as metadata_epoch, max(high_watermark) as high_watermark,
    min_by(at_micros, struct(-high_watermark, at_micros)) as at,
    min_by(voters, struct(-high_watermark, at_micros)) as voters
  from quorum_samples
  where high_watermark > 0
  group by all
),
entries as (
  select metadata_epoch, base_offset from metadata_batches where leader is not null
  union all
  select metadata_epoch, base_offset from cut_metadata_batches where leader is not null
),
first_entries as (
  select metadata_epoch, min(base_offset) as start from entries group by all
),
-- The log of each voter: its end, and the epoch just below the high watermark.
logs as (
  select c.*, b.server, max(b.last_offset) + 1 as log_end,
    max_by(b.metadata_epoch, b.base_offset) filter (where b.base_offset < high_watermark)
      as found_epoch
  from committed as c join metadata_batches as b on array_contains(voters, b.server)
  group by all
),
-- `servers`: the voters whose logs reach the high watermark.
reaching as (
  select leader, metadata_epoch, high_watermark, at, voters,
    sort_array(collect_list(if(log_end >= high_watermark, server, null))) as servers
  from logs
  group by all
),
-- Batches that a server held before a fault was healed, and that no log has at the end.
removed as (
  select * from cut_metadata_batches
  left anti join (select {{ batch }} from metadata_batches) as there using ({{ batch }})
)
select leader, metadata_epoch, high_watermark, at, sort_array(collect_list(server)) as servers,
  'overwritten' as kind, format_string('epoch %s just below it', found_epoch) as got
from logs left join first_entries using (metadata_epoch)
where log_end >= high_watermark and (found_epoch > metadata_epoch
  or found_epoch < metadata_epoch and coalesce(start < high_watermark, true))
group by leader, metadata_epoch, high_watermark, at, found_epoch
union all
select leader, metadata_epoch, high_watermark, at, servers,
  if(size(servers) = 0, 'in no log', 'on a minority'),
  format_string('of voters %s', to_json(voters))
from reaching
where size(servers) * 2 <= size(voters)
union all
select q.leader, leader_epoch, max(high_watermark), min(at_micros), array(server), 'truncated',
  format_string('%s batches that no log has', count(distinct last_offset))
from removed join quorum_samples as q using (server)
where at_micros <= taken_micros and last_offset < high_watermark and metadata_epoch <= leader_epoch
group by server, q.leader, leader_epoch
