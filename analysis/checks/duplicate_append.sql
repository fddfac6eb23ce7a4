/*
id: A3
definition: One value is at two or more offsets of the surviving log; each but the first is a
  finding.
explanation: Each value is sent once, so a retry of its producer was appended again. A violation
  if both appends have one producer id and producer epoch, or if the producer is known as
  idempotent and its batches have no producer id.
permitted: a batch has no producer id, and the producer is not known as idempotent.
undecided: producer id or producer epoch changed in between (KIP-360), or no batch has the offset.
evaluates: every value of the surviving log.
source: 'KIP-98: the sequence numbers of an idempotent producer prevent it.'
needs: [replica_records]
evaluated: select coalesce(sum(records), 0) as evaluated from surviving_records
cases:
- violation: without a producer id, though idempotent
  when: coalesce(is_idempotent, false) and producer_id < 0
  cause: value {value} was appended {appends} times
- permitted: without idempotence
  when: producer_id < 0
  cause: value {value} was appended {appends} times
- violation: in one producer epoch
  when: is_of_one_epoch
  cause: value {value} was appended {appends} times
- undecided: under another producer epoch
  cause: value {value} was appended {appends} times
evidence: value, appends, first_append, producer_id
place:
  offset_first: offset
  offset_last: offset
*/
with repeated as (
  select topic, partition, value
  from surviving_records
  group by all
  having min(offset) < max(offset)
),
appended as (
  select distinct topic, partition, value, offset
  from surviving_records left semi join repeated using (topic, partition, value)
),
batches as (
  select topic, partition, base_offset, last_offset, producer_id, producer_epoch
  from replica_batches
  where not is_control
),
settings as (
  select topic, partition, value, max(is_idempotent) as is_idempotent
  from sliced_sends left semi join repeated using (topic, partition, value)
  group by all
),
by_value as (
  select a.topic, a.partition, value, count(distinct offset) as appends,
    min(offset) as first_append, min(producer_id) as producer_id,
    count(distinct producer_id, producer_epoch) = 1 and not max(producer_id is null)
      as is_of_one_epoch
  from appended as a
  left join batches as b on b.topic = a.topic and b.partition = a.partition
    and offset between base_offset and last_offset
  group by all
)
select by_value.*, offset, is_idempotent
from by_value join appended using (topic, partition, value)
left join settings using (topic, partition, value)
where offset > first_append
