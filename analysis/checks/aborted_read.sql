/*
id: A8
definition: >-
  A read_committed member was delivered a value that no committed transaction wrote.
explanation: That is a value of a failed send, of a transaction that an abort marker ends in the
  log, or of one that its client aborted, also if a marker of another transaction commits some of
  it.
permitted: by an election that permits the loss of its commit marker, as in `misapplied_marker`.
undecided: >-
  no marker ends the transaction, and its client was refused or got no answer: an earlier attempt
  may have committed it.
evaluates: every write of a transaction that is not known as committed, for each group
  with a read_committed member.
source: '`isolation.level`; KIP-98.'
needs: [transactions, sends, polls]
evaluated: select coalesce(sum(records), 0) as evaluated from required
cases:
- violation: '{ended_as}'
  cause: >-
    {records} values of transaction {transaction} of {producer} were delivered as committed:
    {reason}
  permitted_if: marker_permit is not null
  undecided_if: ended_as = 'unknown'
evidence: records, producer, transaction, reason, marker_permit
*/
with required as (
  select w.*, r.group, marker_permit
  from transactional_writes as w
  join committed_readers as r using (topic)
  left join lost_markers using (topic, partition, producer, transaction, marker_offset)
  where ended_as != 'committed'
),
delivered as (
  select required.* except (offset, last_offset, records), p.offset, p.last_offset, polled_micros
  from required
  join sliced_polls as p using (group, topic, partition, value)
  left semi join committed_members using (group, member)
)
select *
from {{ spans("delivered",
  "group, topic, partition, producer, transaction, ended_as, reason, marker_permit",
  "min(polled_micros) as at,") }}
