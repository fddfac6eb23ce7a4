/*
about: |
  What producers began to send or commit after a newer epoch of their transactional.id was reported.

  Of several reports the earliest one.
subject: transactions
columns:
  act: send, commit or send_offsets
  topic: of sends, as partition and offsets
  acts: how many values were sent; 1 of a commit
  newer_epoch: null where the client reports no epoch
  raised_by: the worker that reported it
*/
-- Transactions with every report of a newer epoch of their transactional.id. Where the client
-- reports no epoch, newer_epoch is null, and another producer's initialization counts.
with begun as (
  select producer, transaction, transactional_id, producer_id, producer_epoch
  from transactions
  where change = 'begun'
),
reports as (
  select transactional_id, step, producer as reporter, worker as raised_by,
    producer_epoch as reported_epoch, at_micros as raised_micros
  from transactions
  where outcome = 'ok'
),
fenced_transactions as (
  select producer, transaction, transactional_id, producer_id, producer_epoch,
    if(producer_epoch >= 0, reported_epoch, null) as newer_epoch, raised_micros, raised_by
  from begun join reports using (transactional_id)
  where producer_epoch >= 0 and reported_epoch > producer_epoch
    or producer_epoch < 0 and step = 'initialize' and reporter != producer
),
acts as (
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
