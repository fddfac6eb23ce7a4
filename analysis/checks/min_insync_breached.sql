/*
id: G9
definition: A record was acknowledged with acks=all with fewer replicas in sync than required.
explanation: It was sent after the metadata log had an ISR smaller than `min.insync.replicas`,
  and acknowledged before the log had the next ISR.
permitted: it was sent within 5 s after the change of the ISR, which the leader may not have known.
evaluates: records acknowledged with acks=all, of topics with `min.insync.replicas` above 1.
source: '`Partition.appendRecordsToLeader`; `min.insync.replicas`.'
needs: [sends, leaderships]
evaluated: select coalesce(sum(records), 0) as evaluated from asked
exercised: small_isrs
cases:
- violation: acknowledged
  cause: >-
    {records} records were acknowledged with acks=all in epoch {leader_epoch} while the ISR was
    {to_json(isr)}; min.insync.replicas is {min_insync}
  permitted_if: not is_known_to_leader
evidence: records, leader, leader_epoch, isr, min_insync, at_micros
*/
with asked as (
  select s.* from acknowledged_sends as s join planned_topics using (topic)
  where acks = 'all' and min_insync > 1
)
select topic, partition, leader, leader_epoch, isr, min_insync, at_micros,
  intended_micros > at_micros + {{ heard_micros }} as is_known_to_leader,
  min(first_offset) as offset_first, max(last_offset) as offset_last, sum(records) as records,
  min(answered_micros) as at
from asked join small_isrs using (topic, partition)
where intended_micros > at_micros + :clock_micros
  and (until_micros is null or answered_micros < until_micros - :clock_micros)
group by all
