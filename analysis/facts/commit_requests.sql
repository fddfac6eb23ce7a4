/*
about: |
  Requests about committed offsets that have a response: each partition of an OffsetCommit, a
  TxnOffsetCommit and an OffsetFetch.

  Version 0 of OffsetCommit and OffsetFetch, whose offsets were in ZooKeeper, is left out.
subject: commit_calls
kept: false
columns:
  asked_id: the topic id of the request; empty where it has the topic's name
  asked_offset: that is committed
  asked_epoch: its epoch
  offset: in the response of an OffsetFetch
  epoch: the same
  metadata: of the commit, or of that response; empty where there is none
  is_stable: whether an OffsetFetch asks for stable offsets only
  generation: or member epoch
  is_static: whether the member has a group.instance.id
*/
select worker, seq, broker, api, version, topic, partition, coalesce(topic_id, '') as asked_id,
  asked_offset, asked_epoch, error_code, offset, epoch, coalesce(metadata, '') as metadata,
  coalesce(is_stable, false) as is_stable, group, member, generation,
  coalesce(request rlike '"groupInstanceId": *"', false) as is_static,
  producer_id, producer_epoch, began_micros, at_micros
from wire_calls
where topic is not null and error_code is not null
  and (api in ('OFFSET_COMMIT', 'OFFSET_FETCH') and version > 0 or api = 'TXN_OFFSET_COMMIT')
