/*
id: G8
definition: The eligible leader replicas break KIP-966, or were passed over by an unclean election.
explanation: None is in the ISR, each is a replica, and there are none while the ISR has
  `min.insync.replicas` members. There is no unclean election while one of them is in service.
evaluates: every change of a partition with eligible leader replicas before or after it.
source: KIP-966; `PartitionChangeBuilder.maybePopulateTargetElr`.
needs: [leaderships, broker_states]
evaluated: select count(*) as evaluated from judged
exercised: eligible_states
cases:
- violation: also in the ISR
  cause: >-
    metadata offset {metadata_offset}: eligible leaders {to_json(elr)}, ISR {to_json(isr)}: {kind}
- violation: no replica
  cause: >-
    metadata offset {metadata_offset}: eligible leaders {to_json(elr)}, ISR {to_json(isr)}: {kind}
- violation: not needed
  cause: >-
    metadata offset {metadata_offset}: eligible leaders {to_json(elr)}, ISR {to_json(isr)}: {kind}
- violation: passed over
  cause: >-
    metadata offset {metadata_offset}: eligible leaders {to_json(elr)}, ISR {to_json(isr)}: {kind}
evidence: leader, leader_epoch, isr, elr, metadata_offset
*/
with judged as (
  select * from leadership_changes join planned_topics using (topic)
  where size(elr) > 0 or size(was.elr) > 0
),
compared as (
  select *, case
      when arrays_overlap(elr, isr) then 'also in the ISR'
      when size(array_except(elr, replicas)) > 0 then 'no replica'
      when size(elr) > 0 and size(isr) >= least(min_insync, size(replicas)) then 'not needed'
    end as kind
  from judged
)
select topic, partition, at_micros as at, leader, leader_epoch, isr, elr, metadata_offset, kind
from compared
where kind is not null
union all
select topic, partition, at_micros, leader, epoch, array(leader), passed_over, metadata_offset,
  'passed over'
from elections
where passed_over is not null
