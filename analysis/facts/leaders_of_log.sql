/*
about: |
  Who led each leader epoch of a partition, as the topic is at the end, and whether the election was
  unclean.
subject: drawn
optional: [elections]
columns:
  leader: '-1: none'
*/
with present as (
  select topic, partition, creation from creations where is_last
),
states as (
  select *, lag(leader_epoch) over (partition by topic, partition order by metadata_offset)
      as epoch_before
  from leadership_changes left semi join present using (topic, partition, creation)
),
unclean as (
  select topic, partition, metadata_offset, is_unclean from elections where is_unclean
)
select topic, partition, leader_epoch as epoch, leader, coalesce(is_unclean, false) as is_unclean,
  metadata_offset
from states left join unclean using (topic, partition, metadata_offset)
where not leader_epoch <=> epoch_before
