/*
about: Rows of `leaderships`, and until when each held.
subject: leader_epochs
kept: false
like: leaderships
columns:
  until_micros: when the next row came; null of the last
*/
select *, lead(at_micros) over (partition by topic, partition order by metadata_offset)
  as until_micros
from leaderships
