/*
id: G2
definition: A leader was elected without records that were committed in an earlier epoch.
explanation: A later epoch starts below an offset of which the earlier one's leader had reported
  that it is below the high watermark, or that a consumer was delivered, or that was acknowledged
  with acks=all and is lost; or its leader's log had nothing of the earlier epoch. A delivery after
  an unclean election of a later one does not count, as it may have brought the record back.
evaluates: each epoch with committed records and a later epoch.
source: Kafka's documentation, Replication; Raft, Leader Completeness.
needs: [epoch_checkpoints, leaderships, log_starts]
evaluated: select count(*) as evaluated from followed
exercised: leader_changes
tree: true
later_epoch: next_epoch
cases:
- permitted: incomplete
  when: permit is not null
  cause: broker {leader} began epoch {next_epoch} at {next_start}, but epoch {leader_epoch} had
    committed up to {committed}; {permit.words}
- undecided: incomplete
  when: is_unreported
  cause: broker {leader} began epoch {next_epoch} at {next_start}, but epoch {leader_epoch} had
    committed up to {committed}; how the leader was elected is not known
- violation: incomplete
  cause: broker {leader} began epoch {next_epoch} at {next_start}, but epoch {leader_epoch} had
    committed up to {committed}
evidence: leader, next_epoch, next_start, leader_epoch, committed, permit
*/
with reports as (
  select topic, partition, leader_epoch, log_end_offset as committed, at_micros
  from samples
  where broker = leader and log_end_offset >= 0
  union all
  select d.topic, d.partition, leader_epoch, last_offset + 1, d.at_micros
  from deliveries as d left anti join elections as e
    on (e.topic, e.partition) = (d.topic, d.partition) and e.permits is not null
      and e.epoch - 1 > leader_epoch and e.at_micros <= d.at_micros + :clock_micros
  where leader_epoch >= 0
  union all
  select topic, partition, acknowledged_epoch, last_offset + 1, answered_micros
  from lost_acknowledged
  where acks = 'all' and known_by != 'guess' and acknowledged_epoch is not null
),
-- Of a topic that was created again, what was reported after every broker had heard of it.
heard as (
  select *, at_micros - {{ heard_micros }} as heard_micros from reports
),
committed as (
  select topic, partition, leader_epoch, max(committed) as committed
  from {{ of_present_topic("heard", "heard_micros") }}
  group by all
),
followed as (
  select *, filter(timeline,
    one -> one.leader_epoch > leader_epoch and one.start_high is not null) as later
  from committed join timelines using (topic, partition)
  where exists(timeline, one -> one.leader_epoch > leader_epoch and one.start_high is not null)
),
overtaken as (
  select *, {{ fork_then("leader_epoch", forever) }} as fork,
    explode(filter(later,
      one -> one.start_high < committed or array_contains(one.lacked, leader_epoch))) as lacking
  from followed
),
begun as (
  select topic, partition, leader_epoch, committed, timeline,
    lacking.leader_epoch as next_epoch, lacking.start_high as next_start,
    least(lacking.start_high, if(array_contains(lacking.lacked, leader_epoch), fork, null))
      as offset_first
  from overtaken
),
-- A later epoch is to have what those between left of it: their permits are not its own.
compared as (
  select *, min(offset_first) over (partition by topic, partition, leader_epoch
      order by next_epoch rows between unbounded preceding and 1 preceding) as lost_from
  from begun
),
left_behind as (
  select * except (committed, lost_from), least(committed, lost_from) as committed
  from compared
  where lost_from is null or offset_first < lost_from
),
elected as (
  select topic, partition, epoch as next_epoch, broker as leader, from_micros as at
  from {{ of_present_topic("leader_epochs", "from_micros") }}
)
select *, committed - 1 as offset_last
from {{ with_permit("left_behind", "leader_epoch", "next_epoch", "offset_first") }}
left join elected using (topic, partition, next_epoch)
