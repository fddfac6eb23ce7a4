/*
about: |
  The branches that a truncation removed.

  Known is what any replica still holds, surviving or not, or held when a fault on its server
  ended, what any group was delivered, which acknowledged records were lost, and which end a leader
  reported (its high watermark). What no source saw is left out.
subject: branches
columns:
  forked_at: its first truncated offset
  reached: the end of what is known to have been there, exclusive
  reached_by: '`replica`, `poll`, `sample` or `acknowledgement`: the first of those that reach
    furthest'
*/
with ends as (
  select topic, partition, leader_epoch as epoch, last_offset + 1 as reached, 3 as rank,
    'replica' as reached_by
  from replica_batches
  union all
  select topic, partition, leader_epoch, last_offset + 1, 3, 'replica' from cut_batches
  union all
  select topic, partition, epoch, offset_max + 1, 2, 'poll' from branch_reads
  union all
  select topic, partition, leader_epoch, log_end_offset, 1, 'sample'
  from samples
  where broker = leader and log_end_offset > 0
  union all
  select topic, partition, acknowledged_epoch, last_offset + 1, 0, 'acknowledgement'
  from lost_acknowledged
),
furthest as (
  select topic, partition, epoch, max(struct(reached, rank, reached_by)) as last
  from ends
  where epoch >= 0
  group by all
),
forked as (
  select topic, partition, epoch, {{ fork_then("epoch", forever) }} as forked_at,
    last.reached as reached, last.reached_by as reached_by
  from furthest left join timelines using (topic, partition)
)
select * from forked where reached > forked_at
