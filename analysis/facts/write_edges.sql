/*
about: Pairs of committed transactions of which the second wrote right after the first, and where it
  first did.
subject: transactions
*/
with in_turn as (
  select *, lag(writer) over (partition by topic, partition order by offset, writer) as before
  from committed_writes
),
pairs as (
  select before as first, writer as second, min(struct(topic, partition, offset)) as place
  from in_turn
  where before != writer
  group by all
)
select first, second, place.topic as topic, place.partition as partition, place.offset as offset
from pairs
