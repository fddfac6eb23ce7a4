/*
about: |
  Where others than members set the committed offsets of groups: administrators, or nobody knows.
subject: positions
columns:
  moved_from: what the group itself had committed last; 0 without a commit
  is_reported: whether it is known that an administrator did
  until_micros: of the next commit of the group and partition; null if there is none
*/
with marked as (
  select present_offsets.*, actor <=> 'administrator' as is_reported,
    actor <=> 'administrator' or stored_offset is not null as is_set
  from present_offsets left join unreported_commits using ({{ commit_key }})
),
in_order as (
  select *, lead(committed_micros) over in_log as until_micros,
    last_value(if(is_set, null, offset)) ignore nulls over before as own_offset
  from marked
  window
    in_log as (partition by group, topic, partition order by offsets_offset, committed_micros),
    before as (partition by group, topic, partition order by offsets_offset, committed_micros
      rows between unbounded preceding and 1 preceding)
)
select group, topic, partition, coalesce(own_offset, 0) as moved_from, offset, committed_micros,
  committed_epoch, until_micros, is_reported
from in_order
where is_set
