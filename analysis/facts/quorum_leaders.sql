/*
about: Leaders of the metadata log, by the entry that each wrote when it was elected.
subject: quorum_calls
kept: false
optional: [metadata_batches, cut_metadata_batches]
columns:
  at_micros: null where only a copy has the entry
*/
with entries as (
  select metadata_epoch, leader, base_offset, at_micros from metadata_batches
  union all
  select metadata_epoch, leader, base_offset, null from cut_metadata_batches
)
select metadata_epoch, leader, min(base_offset) as start, min(at_micros) as at_micros
from entries
where leader is not null
group by all
