/*
about: |
  Transactions with every report of a newer epoch of their transactional.id.

  Where the client reports no epoch, newer_epoch is null, and another producer's initialization
  counts.
subject: transactions
columns:
  producer: empty in a row of the coordinator
  transaction: the producer's number of its transaction, from 0; null before the first
  raised_by: the worker
*/
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
)
select producer, transaction, transactional_id, producer_id, producer_epoch,
  if(producer_epoch >= 0, reported_epoch, null) as newer_epoch, raised_micros, raised_by
from begun join reports using (transactional_id)
where producer_epoch >= 0 and reported_epoch > producer_epoch
  or producer_epoch < 0 and step = 'initialize' and reporter != producer
