/*
about: |
  Stored commits and tombstones, with the bounds of when each took effect.

  A commit took effect when it is stored, or when its request was answered, which may be earlier
  than the clocks show. One of a transaction takes effect after its marker; it has, once a request
  for stable offsets is answered that was sent after it was stored.
subject: commit_calls
columns: |
  group string
  topic string
  partition int
  place bigint: in its log, in whose order commits take effect
  stored_offset bigint: -1 of a tombstone
  stored_epoch int: the same
  stored_metadata string
  may_micros bigint: since when it may be in effect, by the observer's clock
  sure_micros bigint: since when it is, by the same
*/
with stored as (
  select group, topic, partition, offsets_offset as place,
    if(is_tombstone, -1, offset) as stored_offset,
    if(is_tombstone, -1, committed_epoch) as stored_epoch,
    if(is_tombstone, '', coalesce(metadata, '')) as stored_metadata,
    committed_micros, marker_micros
  from committed_offsets
  where is_tombstone or coalesce(producer_id, -1) < 0 or marker = 'commit'
),
accepted as (
  select group, topic, partition, metadata as stored_metadata, asked_offset as stored_offset,
    min(at_micros) as accepted_micros
  from commit_requests
  where api != 'OFFSET_FETCH' and error_code = 0 and producer_id is null
  group by all
),
stable as (
  select group, topic, partition, place, min(at_micros) as stable_micros
  from stored join commit_requests using (group, topic, partition)
  where marker_micros is not null and began_micros >= committed_micros + :clock_micros
    and api = 'OFFSET_FETCH' and is_stable and error_code = 0
  group by all
)
select group, topic, partition, place, stored_offset, stored_epoch, stored_metadata,
  coalesce(marker_micros, committed_micros) - :clock_micros as may_micros,
  if(marker_micros is null, least(committed_micros + :clock_micros, accepted_micros),
    least(marker_micros + {{ marker_applied_micros }} + :clock_micros, stable_micros))
    as sure_micros
from stored
left join accepted using (group, topic, partition, stored_metadata, stored_offset)
left join stable using (group, topic, partition, place)
