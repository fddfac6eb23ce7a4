/*
id: G12
definition: Two servers' metadata logs differ, or a broker reported a leadership that no log has.
explanation: Logs that share a batch are the same before it; an offset and epoch name one batch;
  epochs grow with the offset; an epoch has one leader, also by its own report, and in what a log
  held before it was truncated. A leadership that a broker reported was committed, so the metadata
  log has it.
permitted: 'a tail behind the last shared batch: its server had not rejoined when the run ended.'
evaluates: every batch of each metadata log, against each log that shares batches with it.
source: KIP-595; Raft, Log Matching.
needs: [metadata_batches, leaderships]
evaluated: select count(*) as evaluated from metadata_batches join pairs using (server)
exercised: controller_elections
cases:
- violation: not matching
  cause: 'metadata logs of servers {to_json(servers)}, epoch {metadata_epoch}: {kind}'
- violation: one offset, two batches
  cause: 'metadata logs of servers {to_json(servers)}, epoch {metadata_epoch}: {kind}'
- violation: epoch regressed
  cause: 'metadata logs of servers {to_json(servers)}, epoch {metadata_epoch}: {kind}'
- violation: two leaders
  cause: 'metadata logs of servers {to_json(servers)}, epoch {metadata_epoch}: {kind}'
- permitted: uncommitted tail
  cause: 'metadata logs of servers {to_json(servers)}, epoch {metadata_epoch}: {kind}'
- violation: unknown leadership
  cause: brokers {to_json(brokers)} reported broker {leader} as leader of epoch {leader_epoch},
    which is in no metadata log
  evidence: brokers, leader, leader_epoch
evidence: servers, metadata_epoch, batches
*/
{% set batch = "base_offset, last_offset, metadata_epoch, size_bytes, checksum" %}
with every_batch as (
  select server, leader, {{ batch }} from metadata_batches
  union all
  select server, leader, {{ batch }} from cut_metadata_batches
),
bounds as (
  select server as other, min(base_offset) as log_start, max(last_offset) as log_end
  from metadata_batches
  group by all
),
shared as (
  select one.server, two.server as other, max(base_offset) as shared_to
  from metadata_batches as one join metadata_batches as two using ({{ batch }})
  where one.server != two.server
  group by all
),
pairs as (
  select * from shared join bounds using (other)
),
-- Batches of one log that another lacks, though it reaches so far.
lacking as (
  select array(server, other) as servers, metadata_epoch, base_offset, last_offset,
    if(base_offset <= shared_to, 'not matching', 'uncommitted tail') as kind
  from metadata_batches
  join pairs using (server)
  left anti join (select server as other, {{ batch }} from metadata_batches) as there
    using (other, {{ batch }})
  where base_offset between log_start and log_end
),
in_log as (
  select server, metadata_epoch, min(base_offset) as offset_first, max(last_offset) as offset_last,
    count(*) as batches
  from metadata_batches
  group by all
),
followed as (
  select *, max(offset_last) over (partition by server order by metadata_epoch
      rows between unbounded preceding and 1 preceding) as end_before
  from in_log
),
led as (
  select metadata_epoch, leader, base_offset, last_offset from every_batch where leader is not null
  union all
  select leader_epoch, leader, null, null from quorum_samples
),
differing as (
  select servers, metadata_epoch, min(base_offset) as offset_first,
    max(last_offset) as offset_last, count(*) as batches, kind
  from lacking
  group by all
  union all
  select sort_array(collect_set(server)), metadata_epoch, base_offset, max(last_offset),
    count(distinct last_offset, size_bytes, checksum), 'one offset, two batches'
  from every_batch
  group by metadata_epoch, base_offset
  having count(distinct last_offset, size_bytes, checksum) > 1
  union all
  select array(server), metadata_epoch, offset_first, offset_last, batches, 'epoch regressed'
  from followed
  where end_before >= offset_first
  union all
  select sort_array(collect_set(leader)), metadata_epoch, min(base_offset), max(last_offset),
    count(base_offset), 'two leaders'
  from led
  group by metadata_epoch
  having count(distinct leader) > 1
),
unknown as (
  select topic, partition, leader, leader_epoch, 'unknown leadership' as kind,
    min(at_micros) as at, sort_array(collect_set(broker)) as brokers
  from samples left anti join leaderships using (topic, partition, leader, leader_epoch)
  where leader >= 0
  group by all
)
-- All rows of both: their kinds differ.
select * from differing full outer join unknown using (kind)
