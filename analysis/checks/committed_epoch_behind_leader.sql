/*
id: E4
definition: The committed epoch is that of the previous record, and the leader had a newer one.
evaluates: every commit whose previous record has a known epoch.
source: '`SubscriptionState.allConsumed`; KAFKA-19902 reports it as a precondition.'
needs: [committed_offsets, polls, leaderships]
evaluated: select count(*) as evaluated from known
exercised: commits_across_epochs
cases:
- permitted: behind leader
  cause: the committed epoch matches its offset; the leader epoch was already newer
evidence: committed_epoch, record_epoch, led_epoch, commit_epoch
place:
  offset_first: offset
  offset_last: offset
  at: committed_micros
*/
with known as (
  select * from stored_commits where record_epoch is not null
)
select * from known where committed_epoch = record_epoch and record_epoch < led_epoch
