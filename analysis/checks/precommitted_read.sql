/*
id: C3
definition: A read_committed member was delivered a value before its producer began to commit it.
undecided: another worker wrote the value, and the delivery was before the commit by no more than
  the clock bound; or the clock of the worker was set by as much.
evaluates: deliveries of values whose transaction the client began to commit; `aborted_read`
  evaluates the others.
source: '`isolation.level`; KIP-98.'
needs: [transactions, sends, polls]
evaluated: select coalesce(sum(records), 0) as evaluated from reads_of_commits
cases:
- violation: before its commit
  cause: >-
    {records} values of transaction {transaction} of {producer} were delivered before its commit
    began
  undecided_if: not is_sure
evidence: records, producer, transaction, commit_micros
*/
select group, topic, partition, producer, transaction, commit_micros, min(offset) as offset_first,
  max(last_offset) as offset_last, sum(records) as records, min(polled_micros) as at,
  max(polled_micros + if(worker = committed_by, :jump_micros, :clock_micros) < commit_micros)
    as is_sure
from reads_of_commits
where polled_micros < commit_micros
group by all
