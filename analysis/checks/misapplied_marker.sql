/*
id: C6
definition: The markers of a transaction contradict each other or the outcome that its client
  reports.
explanation: >-
  Its writes in one partition end at different markers; or it is committed in some partitions and
  aborted in others; or its markers differ from the outcome that its client reports; or it is
  committed, although its client never began to commit it. A commit that failed after 100 ms or
  more is left out: an earlier attempt may have succeeded, and its response may have been lost.
permitted: by an election that permits the loss of the commit marker, after which an abort marker
  of a later transaction ended the writes.
undecided: the commit failed in less than 100 ms (`retry.backoff.ms`), and the transaction is
  committed.
evaluates: each transaction that has a marker.
source: KAFKA-17754; KIP-890.
needs: [transactions, sends, replica_batches]
evaluated: select count(*) as evaluated from ended
cases:
- violation: split
  when: is_split
  cause: >-
    transaction {transaction} of {producer} ended with {markers} markers; the outcome at its
    client: {reported}
- permitted: mixed
  when: is_mixed and permit is not null
  cause: >-
    transaction {transaction} of {producer} ended with {markers} markers; the outcome at its
    client: {reported}; {permit.words}
- violation: mixed
  when: is_mixed
  cause: >-
    transaction {transaction} of {producer} ended with {markers} markers; the outcome at its
    client: {reported}
- permitted: contrary
  when: permit is not null
  cause: >-
    transaction {transaction} of {producer} ended with {markers} markers; the outcome at its
    client: {reported}; {permit.words}
- undecided: contrary
  when: marker = 'commit' and reported = 'refused' and waited_micros < 100000
  cause: >-
    transaction {transaction} of {producer} ended with {markers} markers; the outcome at its
    client: {reported}
- violation: contrary
  when: marker = 'commit' and (reported = 'aborted' or commit_micros is null) or marker !=
    'commit' and reported = 'committed'
  cause: >-
    transaction {transaction} of {producer} ended with {markers} markers; the outcome at its
    client: {reported}
evidence: producer, transaction, marker, reported, commit_micros, permit
*/
with marked as (
  select * from transactional_writes
  left join lost_markers using (topic, partition, producer, transaction, marker_offset)
  where marker is not null and outcome != 'failed'
),
of_partition as (
  select producer, transaction, topic, partition, min(offset) as offset_first,
    max(last_offset) as offset_last, min(marker) as least, max(marker) as most,
    min(reported) as reported, min(marker_offset) != max(marker_offset) as is_split,
    min(marker_permit) as permit,
    max(marker = 'abort' and marker_permit is null) as is_required
  from marked
  group by all
),
ended as (
  select producer, transaction,
    min_by(struct(topic, partition, offset_first, offset_last),
      struct(not is_split, topic, partition)) as place,
    min(least) != max(most) as is_mixed, max(most) as marker, min(reported) as reported,
    max(is_split) as is_split, if(max(is_required), null, min(permit)) as permit
  from of_partition
  group by producer, transaction
)
select ended.*, place.topic as topic, place.partition as partition,
  place.offset_first as offset_first, place.offset_last as offset_last,
  if(is_mixed, 'commit and abort', marker) as markers, commit_micros, waited_micros
from ended left join transaction_ends using (producer, transaction)
