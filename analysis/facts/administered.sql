/*
about: Where administrators set the committed offsets of groups.
subject: positions
columns:
  moved_from: what the group itself had committed last; 0 without a commit
  until_micros: of the next commit of the group and partition; null if there is none
*/
with in_order as (
  select *, lead(committed_micros) over in_log as until_micros,
    last_value(if(actor <=> 'administrator', null, offset)) ignore nulls over before as own_offset
  from present_offsets
  window
    in_log as (partition by group, topic, partition order by offsets_offset, committed_micros),
    before as (partition by group, topic, partition order by offsets_offset, committed_micros
      rows between unbounded preceding and 1 preceding)
)
select group, topic, partition, coalesce(own_offset, 0) as moved_from, offset, committed_micros,
  committed_epoch, until_micros
from in_order
where actor = 'administrator'
