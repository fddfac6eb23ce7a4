/*
about: Groups whose clients show no leader epoch of any record that they deliver.
subject: deliveries
kept: false
columns:
  is_without_epochs: always true
*/
with shown as (
  select group from deliveries left anti join unshown_epochs using (group, member, topic, partition)
)
select distinct group, true as is_without_epochs
from unshown_epochs left anti join shown using (group)
