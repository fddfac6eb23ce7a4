/*
about: What read_committed members were delivered of transactions that a client began to commit.
subject: transactions
columns: |
  group string
  worker string: that read it
  topic string
  partition int
  offset bigint
  last_offset bigint: inclusive
  records bigint
  polled_micros bigint
  producer string
  transaction int
  commit_micros bigint: when its commit began
  committed_by string: the worker that wrote it
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
