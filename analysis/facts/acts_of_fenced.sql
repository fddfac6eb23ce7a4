/*
about: |
  What producers began to send or commit after a newer epoch of their transactional.id was reported.

  Of several reports the earliest one.
subject: transactions
columns: |
  worker string
  producer string
  transaction int
  act string: send, commit or send_offsets
  topic string: of sends, as partition and offsets
  partition int
  first_sequence bigint
  first_offset bigint
  last_offset bigint
  acts bigint: how many values were sent; 1 of a commit
  outcome string
  error string
  began_micros bigint
  transactional_id string
  producer_epoch int
  newer_epoch int: null where the client reports no epoch
  raised_micros bigint
  raised_by string: the worker that reported it
*/
with acts as (
  select worker, producer, transaction, 'send' as act, topic, partition, first_sequence,
    first_offset, last_offset, last_sequence - first_sequence + 1 as acts, outcome, error,
    intended_micros as began_micros
  from sends
  union all
  select worker, producer, transaction, step, null, null, null, null, null, 1, outcome, error,
    began_micros
  from transactions
  where step in ('commit', 'send_offsets')
),
raised as (
  select acts.*, transactional_id, producer_epoch,
    min(struct(raised_micros, raised_by, newer_epoch)) as report
  from acts join fenced_transactions using (producer, transaction)
  where began_micros > raised_micros
  group by all
)
select * except (report), report.newer_epoch as newer_epoch, report.raised_micros as raised_micros,
  report.raised_by as raised_by
from raised
