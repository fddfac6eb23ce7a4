/*
about: |
  Stored commits of groups whose commits were fetched, as far as it is known who asked for them, and
  when they were acknowledged.

  A report belongs to the commits with its offset that were stored between the request and its
  response, and have its metadata or its leader epoch, as far as it has them. If there are several,
  the first of them was acknowledged. Those of transactions are left out.
subject: commit_calls
optional: [offset_reads, wire_calls]
columns:
  place: as in `commit_effects`
  asked_by: the worker that asked
  is_request: whether by a single request, or by Admin
  acked_micros: by that worker's clock; null if it was not acknowledged
*/
with asked as (
  select worker, seq, group, topic, partition, offset, epoch, metadata,
    member is null as is_request, if(outcome = 'ok', at_micros, null) as acked_micros,
    {{ asked_first("at_micros") }} as asked_first, {{ asked_last("at_micros") }} as asked_last
  from requested_commits
),
fetched as (
  select group from wire_calls where api = 'OFFSET_FETCH'
  union
  select group from offset_reads
),
stored as (
  select group, topic, partition, offset, offsets_offset as place, committed_micros,
    coalesce(metadata, '') as stored_metadata, committed_epoch
  from committed_offsets left semi join fetched using (group)
  where not is_tombstone and coalesce(producer_id, -1) < 0
),
matched as (
  select group, topic, partition, place, worker, is_request, acked_micros,
    min(place) over (partition by worker, seq, group, topic, partition) as first_place
  from asked join stored using (group, topic, partition, offset)
  where committed_micros between asked_first and asked_last
    and coalesce(metadata = stored_metadata, true) and (is_request or epoch = committed_epoch)
)
select group, topic, partition, place, worker as asked_by, is_request,
  min(acked_micros) filter (where place = first_place) as acked_micros
from matched
group by group, topic, partition, place, worker, is_request
