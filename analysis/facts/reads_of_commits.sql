/*
about: What read_committed members were delivered of transactions that a client began to commit.
subject: transactions
columns:
  worker: that read it
  last_offset: inclusive
  commit_micros: when its commit began
  committed_by: the worker that wrote it
*/
with written as (
  select topic, partition, value, e.producer, transaction, commit_micros, e.worker as committed_by
  from sliced_sends join transaction_ends as e using (producer, transaction)
  where commit_micros is not null
)
select group, worker, topic, partition, p.offset, p.last_offset, p.records, polled_micros,
  w.producer, transaction, commit_micros, committed_by
from sliced_polls as p
join written as w using (topic, partition, value)
left semi join committed_members using (group, member)
