/*
about: |
  When a member may go on fetching from a broker that leads its partition no more.

  A fault partitions that broker from the controllers, and not from clients: its responses have no
  error after which a member asks for metadata, and without one it does so each
  `metadata.max.age.ms`. A member that is opened meanwhile may have its metadata from that broker.
  One that was delivered a record of a newer epoch knows the newer leader.
subject: leader_epochs
columns:
  broker: that had led the partition
  since: when the next leader epoch began
  until: micros, when the fault was over, the metadata too old, or a newer record delivered
*/
with partitioned as (
  select injected_micros, ended_micros, explode(brokers) as broker
  from held_faults
  where fault in ({{ fencing_cuts }})
),
deposed as (
  select topic, partition, newer_epoch, broker, until_micros as since,
    max(coalesce(ended_micros, run_ended_micros)) as ended_micros
  from leader_epochs join partitioned using (broker)
  cross join run_conditions
  where newer_epoch is not null and injected_micros <= until_micros
    and coalesce(ended_micros > until_micros, true)
  group by all
),
members as (
  select group, member, max(if(change = 'opened', at_micros, null)) as opened_micros
  from group_events
  group by all
),
newer as (
  select group, member, topic, partition, newer_epoch, min(at_micros) as newer_micros
  from deposed join deliveries using (topic, partition)
  where leader_epoch >= newer_epoch and at_micros >= since
  group by all
)
select group, member, topic, partition, broker, since,
  least(ended_micros, newer_micros, greatest(since, opened_micros)
    + metadata_age_ms * {{ micros_per_second }} / 1000) as until
from deposed cross join members
join (select group, metadata_age_ms from planned_groups) using (group)
left join newer using (group, member, topic, partition, newer_epoch)
