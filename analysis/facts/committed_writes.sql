/*
about: Acknowledged writes of committed transactions, in slices.
subject: transactions
kept: false
columns:
  offset: the first one
*/
with committed as (
  select producer, transaction from transaction_ends where reported = 'committed'
)
select topic, partition, offset, struct(producer, transaction) as writer
from sliced_acknowledged left semi join committed using (producer, transaction)
