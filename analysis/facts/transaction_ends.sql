/*
about: |
  How each transaction ended that its client set out to end.

  A transaction that its client only tried to abort is aborted, whatever the answer: no other
  client may commit it. One whose commit was refused is `refused`.
subject: transactions
optional: [transactions]
kept: false
columns:
  producer: empty in a row of the coordinator
  transaction: the producer's number of its transaction, from 0; null before the first
  reported: 'committed, aborted, refused or unknown: the last outcome at the client'
  commit_micros: when it set out to commit; null if it never did
  waited_micros: the longest wait for a response to that
*/
select producer, transaction,
  case
    when max(outcome = 'ok' and step = 'commit') then 'committed'
    when max(outcome = 'ok' and step = 'abort') then 'aborted'
    when max(outcome = 'unknown') then 'unknown'
    when max(step = 'commit') then 'refused'
    else 'aborted'
  end as reported,
  min(began_micros) filter (where step = 'commit') as commit_micros,
  max(at_micros - began_micros) filter (where step = 'commit') as waited_micros,
  min(worker) as worker
from transactions
where step in ('commit', 'abort')
group by producer, transaction
