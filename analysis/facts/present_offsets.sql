/*
about: Rows of `committed_offsets` in the surviving log, about topics as they are at the end.
subject: positions
kept: false
columns: |
  group string
  topic string
  partition int
  offset bigint: null in a tombstone
  committed_epoch int: null in a tombstone
  metadata string: of the commit; null in a tombstone
  is_tombstone boolean: the commit was deleted, as with its topic, or expired
  offsets_partition int: of `__consumer_offsets`
  offsets_offset bigint: in that partition
  committed_micros bigint: the record's timestamp, to the millisecond
  producer_id bigint: of the transaction that it belongs to; -1 outside of one
  producer_epoch int: the same
  marker string: of the transaction: commit, abort; null outside of one, or where none ends it
  brokers array<int>: whose replicas hold the record at the end; null where not known
  value_version int: of `OffsetCommitValue`; null in a tombstone
  topic_id string: in the value; null where it has none
  marker_micros bigint: the marker's timestamp, to the millisecond; null without a marker
  actor string: member: its client reported the commit; transaction; administrator: a single
    request of the run; null: no source reports it
  by_member string: that reported it
  by_seq bigint: of the report in its history
*/
select * except (survives) from all_offsets where survives
