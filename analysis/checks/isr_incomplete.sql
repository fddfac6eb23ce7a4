/*
id: G3
definition: A member of the last ISR lacks records below the high watermark that its leader
  reported; or, where nobody is in sync, an eligible leader replica lacks records that were committed.
explanation: It ends below the high watermark, or has a hole between two of its batches which
  other members do not have. Partitions without a leader are left out. Where the last ISR is empty,
  an acknowledged record that another eligible leader replica has is compared; it was committed if
  its send waited for all replicas in sync.
undecided: the log end of a member is not known; or a record was acknowledged with acks=1, so that it
  may lie above the high watermark; or an event since permits a loss, or a fault wiped or cut a log
  of that broker.
evaluates: the members of each last ISR whose last leader reported a high watermark, and records that
  eligible leader replicas differ in.
source: >-
  `Partition.maybeIncrementLeaderHW`: no member of the ISR is behind the high watermark; KIP-966: the
  eligible leader replicas have all that is below it, and what lies above may differ.
needs: [leaderships, samples, log_starts]
optional: [eligible_gaps]
evaluated: >-
  select (select count(*) from members)
    + (select coalesce(sum(last_offset - offset + 1), 0) from eligible_gaps) as evaluated
cases:
- violation: eligible leader behind
  cause: broker {broker} is an eligible leader of a partition without an ISR, but lacks offsets
    {offset_first} to {offset_last}, which were acknowledged with acks=all and are on brokers
    {to_json(holders)}
  undecided_if: permit is not null or is_damaged
  evidence: broker, holders, permit
- undecided: eligible leaders differ
  cause: broker {broker} is an eligible leader of a partition without an ISR, and lacks offsets
    {offset_first} to {offset_last}, which were acknowledged with acks=1 and are on brokers
    {to_json(holders)}
  evidence: broker, holders, permit
- undecided: no replica
  cause: broker {broker} is in the ISR in epoch {leader_epoch}, but its log ends at an unknown
    offset; the high watermark was {high_watermark}
- violation: behind
  cause: broker {broker} is in the ISR in epoch {leader_epoch}, but its log ends at
    {log_end_offset}; the high watermark was {high_watermark}
- violation: hole
  cause: broker {broker} is in the ISR in epoch {leader_epoch} but lacks offsets {offset_first}
    to {offset_last}, which other members of the ISR have below high watermark {high_watermark}
evidence: broker, leader_epoch, log_end_offset, high_watermark
*/
with in_sync as (
  select topic, partition, leader_epoch, high_watermark, explode(isr) as broker
  from last_states
  where leader >= 0 and high_watermark is not null
),
members as (
  select in_sync.*, log_start_offset, greatest(log_end_offset, batches_end) as log_end_offset
  from in_sync left join ends_of_replicas using (topic, partition, broker)
),
holes as (
  select members.*, greatest(hole_first, log_start_offset) as offset_first,
    least(hole_last, high_watermark - 1) as offset_last
  from replica_holes join members using (topic, partition, broker)
),
held as (
  select topic, partition, broker as holder, base_offset, last_offset
  from replica_batches left semi join members using (topic, partition, broker)
),
eligible as (
  select topic, partition, broker, offset_first, offset_last, holders, is_damaged, permit,
    if(is_for_all, 'eligible leader behind', 'eligible leaders differ') as kind
  from {{ spans("eligible_gaps",
    "topic, partition, broker, holders, is_for_all, is_damaged, permit") }}
),
behind as (
  select *, log_end_offset as offset_first, high_watermark - 1 as offset_last,
    if(log_end_offset is null, 'no replica', 'behind') as kind
  from members
  where log_end_offset is null or log_end_offset < high_watermark
  union all
  select distinct holes.*, 'hole'
  from holes join held on (held.topic, held.partition) = (holes.topic, holes.partition)
  where holder != broker and offset_first <= offset_last
    and base_offset <= offset_last and last_offset >= offset_first
)
select * from behind full outer join eligible using (topic, partition, broker, kind,
  offset_first, offset_last)
