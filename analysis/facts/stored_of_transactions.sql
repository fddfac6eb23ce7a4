/*
about: |
  How many offsets of each transaction the surviving log of the coordinators has.

  Those of a topic that was created again count too: they were stored while there was the old one.
  Only transactions with some.
subject: transactions
kept: false
columns:
  producer: empty in a row of the coordinator
  transaction: the producer's number of its transaction, from 0; null before the first
  committed: those of them that a commit marker ends
  aborted: those that an abort marker ends
*/
with lost as (
  select distinct offsets_partition, offsets_offset from all_offsets where not survives
)
select producer, transaction, min(group) as group, count(*) as stored,
  count_if(marker = 'commit') as committed, count_if(marker = 'abort') as aborted
from offset_commits left anti join lost using (offsets_partition, offsets_offset)
group by producer, transaction
