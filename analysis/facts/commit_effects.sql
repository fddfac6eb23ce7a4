/*
about: |
  Stored commits and tombstones, with the bounds of when each took effect.

  A commit took effect between when it was stored, which may be earlier than the clocks show, and
  when it was acknowledged. One that was asked for and not acknowledged may never have; one of which
  no source knows who asked for it has, once it is stored. One of a transaction takes effect after
  its marker; it has, once a request for stable offsets is answered that was sent after it was
  stored. What did not survive in the coordinators' log may have been in effect, and was not surely.
subject: commit_calls
columns:
  place: in its log, in whose order commits take effect
  offsets_partition: of `__consumer_offsets`
  log_epoch: 'the leader epoch of that partition under which it was stored; null: not known'
  committed_micros: when it was stored, by the coordinator's clock
  survives: whether a replica in the last ISR of that partition holds it, or that is not known
  stored_offset: -1 of a tombstone
  stored_epoch: the same
  may_micros: since when it may be in effect, by the observer's clock
  sure_micros: since when it is, by the same; null if it may never have been
*/
with stored as (
  select group, topic, partition, offsets_offset as place, offsets_partition, log_epoch, survives,
    if(is_tombstone, -1, offset) as stored_offset,
    if(is_tombstone, -1, committed_epoch) as stored_epoch,
    if(is_tombstone, '', coalesce(metadata, '')) as stored_metadata,
    committed_micros, marker_micros
  from {{ with_survival("committed_offsets") }}
  where is_tombstone or coalesce(producer_id, -1) < 0 or marker = 'commit'
),
asked as (
  select group, topic, partition, place, true as is_asked,
    min(acked_micros + if(is_request, 0, :clock_micros)) as acked_micros
  from commit_outcomes
  group by all
),
stable as (
  select group, topic, partition, place, min(at_micros) as stable_micros
  from stored join commit_requests using (group, topic, partition)
  where marker_micros is not null and began_micros >= committed_micros + :clock_micros
    and api = 'OFFSET_FETCH' and is_stable and error_code = 0
  group by all
)
select group, topic, partition, place, offsets_partition, log_epoch, committed_micros, survives,
  stored_offset, stored_epoch, stored_metadata,
  coalesce(marker_micros, committed_micros) - :clock_micros as may_micros,
  case
    when not survives then null
    when marker_micros is not null
      then least(marker_micros + {{ marker_applied_micros }} + :clock_micros, stable_micros)
    when is_asked then acked_micros
    else committed_micros + :clock_micros
  end as sure_micros
from stored
left join asked using (group, topic, partition, place)
left join stable using (group, topic, partition, place)
