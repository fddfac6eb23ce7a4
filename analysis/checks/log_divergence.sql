/*
id: G1
definition: Two replicas have different batches at an offset that is committed on both.
explanation: Each replica has a bound below which its offsets are committed. It is the replica's
  checkpointed high watermark; for a member of the last ISR, also the one that the last leader
  reported, if that is higher. The log ends, and what lies above the bounds, may differ. For a
  replica outside the ISR the bound is lower if an election permitted a loss (the start of that
  epoch), and 0 if the topic was created again.
evaluates: batches that lie below the bound on two or more replicas.
source: KIP-101; Raft, Log Matching.
needs: [replica_batches, log_starts, leaderships]
evaluated: select count(*) as evaluated from judged
exercised: leader_changes
tree: true
cases:
- violation: differs
  cause: >-
    {batches} batches of epochs {to_json(epochs)}, committed on other replicas, are missing on
    brokers {to_json(without)}
evidence: without, batches, epochs
*/
{% set batch = "base_offset, last_offset, leader_epoch, producer_id, producer_epoch, base_sequence,
    record_count, size_bytes, checksum" %}
with bounds as (
  select topic, partition, broker, log_start_offset,
    -- One bit for each replica, so that `bit_or` collects the holders of a batch.
    shiftleft(1L, greatest(array_position(replicas, broker), 0L)) as bit,
    least(log_end_offset, case
      when array_contains(isr, broker)
        then greatest(coalesce(high_watermark_checkpoint, 0), coalesce(high_watermark, 0))
      when once.topic is null then 0
      else least(coalesce(high_watermark_checkpoint, 0), permitted_from)
    end) as committed_to
  from log_starts
  join last_states using (topic, partition)
  left join permitted_from using (topic, partition)
  left join created_once as once using (topic, partition)
),
bounds_of_log as (
  select topic, partition,
    collect_list(struct(bit, broker, log_start_offset, committed_to)) as bounds
  from bounds
  group by all
),
-- Each distinct batch, with the replicas that hold it.
copies as (
  select topic, partition, {{ batch }}, bit_or(bit) as holders
  from replica_batches join bounds using (topic, partition, broker)
  group by all
),
-- `covering`: the replicas on which the batch's offset is committed.
covered as (
  select *, filter(bounds,
    one -> base_offset >= one.log_start_offset and base_offset < one.committed_to) as covering
  from copies join bounds_of_log using (topic, partition)
),
-- `lacking`: those of them that do not hold the batch.
compared as (
  select *, filter(covering, one -> (one.bit & holders) = 0) as lacking
  from covered
  where size(covering) > 1
),
-- A batch that none of them holds is an uncommitted tail of another replica.
judged as (
  select *, transform(lacking, one -> one.broker) as without
  from compared
  where size(lacking) < size(covering)
)
select topic, partition, without, min(base_offset) as offset_first,
  max(last_offset) as offset_last, count(*) as batches,
  sort_array(collect_set(leader_epoch)) as epochs
from judged
where size(without) > 0
group by all
