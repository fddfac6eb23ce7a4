/*
about: Groups whose clients show no leader epoch of any record that they deliver.
subject: deliveries
kept: false
columns:
  is_without_epochs: always true
*/
select group, true as is_without_epochs
from polls
group by group
having min(coalesce(is_of_log, false))
