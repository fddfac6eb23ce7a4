/*
about: |
  Pauses between two polls of a member that returned records of a partition.

  Of members that read uncommitted values too; others wait for transactions.
subject: deliveries
columns:
  offset: of the first record after the pause
  seq_before: of the poll before
  seq: of the poll after
*/
with returned as (
  select group, member, topic, partition, seq, min(at_micros) as ended, min(first_offset) as offset
  from deliveries
  left semi join planned_groups using (group)
  left anti join committed_members using (group, member)
  group by all
),
followed as (
  select *, lag(ended) over in_turn as since, lag(seq) over in_turn as seq_before
  from returned
  window in_turn as (partition by group, member, topic, partition order by seq)
)
select group, member, topic, partition, offset, since, ended, seq_before, seq
from followed
where since is not null
