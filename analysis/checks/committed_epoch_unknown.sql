/*
id: E8
definition: The partition never had the committed epoch, or the epoch began after the commit.
undecided: the epoch began after the commit by no more than the clock bound; or the epoch is
  older than the oldest one in the metadata log.
evaluates: every commit that has an epoch.
source: 'KIP-631: PartitionChangeRecord is the only origin of leader epochs.'
needs: [committed_offsets, leaderships]
evaluated: select count(*) as evaluated from reported
exercised: commits_across_epochs
tree: true
cases:
- undecided: no such epoch
  when: began_micros is null and coalesce(committed_epoch < oldest_epoch, true)
  cause: the leader epoch is older than the oldest one in the metadata log
- violation: no such epoch
  when: began_micros is null
  cause: the partition never had this leader epoch
- violation: not begun
  cause: the leader epoch began only after the commit
  undecided_if: is_close
evidence: committed_epoch, began_micros, oldest_epoch, commit_epoch
place:
  offset_first: offset
  offset_last: offset
  at: committed_micros
*/
with reported as (
  select * from stored_commits where committed_epoch >= 0
),
begun as (
  select topic, partition, leader_epoch as committed_epoch, min(at_micros) as began_micros
  from leaderships
  group by all
),
oldest as (
  select topic, partition, min(leader_epoch) as oldest_epoch from leaderships group by all
)
select *, began_micros - :clock_micros <= committed_micros as is_close
from reported
left join begun using (topic, partition, committed_epoch)
left join oldest using (topic, partition)
where began_micros is null or began_micros > committed_micros + {{ commit_clock_micros }}
