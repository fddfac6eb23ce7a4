/*
id: A10
definition: A send that its client reported as failed is in the surviving log.
explanation: >-
  This is a fault of the client. Sends of transactions are left out, since only the marker decides
  whether they count: `aborted_read` evaluates them.
undecided: the error admits that the record was appended, or that an earlier attempt was and its
  response was lost.
evaluates: every send.
source: >-
  `RecordTooLargeException`: refused before the append; `NotEnoughReplicasAfterAppendException`:
  appended; `TimeoutException`: either.
needs: [sends, log_starts]
evaluated: select coalesce(sum(records), 0) as evaluated from counted_sends
cases:
- violation: refused, yet written
  when: is_refused
  cause: client of producer {producer} reported {records} sends as failed ({error}), but the log
    has the records
- undecided: may be written
  cause: client of producer {producer} reported {records} sends as failed ({error}), but the log
    has the records
evidence: records, producer, error
*/
with written as (
  select f.topic, f.partition, producer, error, answered_micros, s.offset, s.last_offset
  from sliced_unacknowledged as f join surviving_records as s using (topic, partition, value)
  where outcome = 'failed' and transaction is null
)
select *, coalesce(error in ('ClusterAuthorizationException', 'InvalidRequiredAcksException',
    'InvalidTopicException', 'InvalidTxnStateException', 'RecordTooLargeException',
    'SerializationException', 'TopicAuthorizationException', 'UnsupportedVersionException'), false)
    as is_refused
from {{ spans("written", "topic, partition, producer, error", "min(answered_micros) as at,") }}
