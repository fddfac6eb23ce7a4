/*
about: |
  Requests about committed offsets that have a response: each partition of an OffsetCommit, a
  TxnOffsetCommit and an OffsetFetch.

  Version 0 of OffsetCommit and OffsetFetch, whose offsets were in ZooKeeper, is left out.
subject: commit_calls
kept: false
columns: |
  worker string
  seq bigint
  broker int
  api string
  version int
  topic string
  partition int
  asked_id string: the topic id of the request; empty where it has the topic's name
  asked_offset bigint: that is committed
  asked_epoch int: its epoch
  error_code int
  offset bigint: in the response of an OffsetFetch
  epoch int: the same
  metadata string: of the commit, or of that response; empty where there is none
  is_stable boolean: whether an OffsetFetch asks for stable offsets only
  group string
  member string
  generation int: or member epoch
  is_static boolean: whether the member has a group.instance.id
  producer_id bigint
  producer_epoch int
  began_micros bigint
  at_micros bigint
*/
select worker, seq, broker, api, version, topic, partition, coalesce(topic_id, '') as asked_id,
  asked_offset, asked_epoch, error_code, offset, epoch, coalesce(metadata, '') as metadata,
  coalesce(is_stable, false) as is_stable, group, member, generation,
  coalesce(request rlike '"groupInstanceId": *"', false) as is_static,
  producer_id, producer_epoch, began_micros, at_micros
from wire_calls
where topic is not null and error_code is not null
  and (api in ('OFFSET_COMMIT', 'OFFSET_FETCH') and version > 0 or api = 'TXN_OFFSET_COMMIT')
