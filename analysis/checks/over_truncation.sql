/*
id: F4
definition: 'A replica was truncated below its divergence: it had the records, and they survive.'
explanation: It had written them itself, as the leader of an epoch that was over, or they were
  acknowledged with acks=all while it was in the ISR. Until it has fetched them again, they have
  one replica fewer.
evaluates: the truncations that servers logged.
source: "KIP-101, KIP-279: a follower truncates to where the leader's log parts from its own."
needs: [truncations, epoch_checkpoints, log_starts, leaderships]
evaluated: select count(*) as evaluated from truncations
exercised: truncations
tree: true
cases:
- violation: wrote
  when: had = 'wrote'
  cause: broker {broker} truncated its log to {to_offset} and lost offsets {first} to {last} of
    epoch {epoch}, which are on the surviving branch
- violation: acknowledged in sync
  cause: broker {broker} truncated its log to {to_offset} and lost offsets {first} to {last} of
    epoch {epoch}, which are on the surviving branch
evidence: broker, to_offset, epoch, records, had
place:
  offset_first: first
  offset_last: last
  at: cut_micros
*/
-- Records of an epoch that followers had while they were in the ISR, above a truncation.
with replicated_above as (
  select topic, partition, broker, to_offset, cut_micros, epoch, start, end,
    s.at_micros + :clock_micros as since,
    least(s.until_micros - :clock_micros, cut_micros) as until
  from survivors_above as a join leadership_states as s using (topic, partition)
  where a.leader != broker and s.leader_epoch = a.epoch and array_contains(isr, broker)
    and s.at_micros + :clock_micros < cut_micros
),
in_sync as (
  select topic, partition, broker, to_offset, cut_micros, epoch, offset, last_offset, value
  from sliced_acknowledged join replicated_above using (topic, partition)
  where acks = 'all' and offset >= to_offset and offset >= start and offset < end
    and intended_micros >= since and answered_micros <= until
),
had as (
  select topic, partition, broker, to_offset, cut_micros, epoch,
    greatest(start, to_offset) as first, end - 1 as last, 'wrote' as had
  from survivors_above
  where leader = broker
  union all
  select topic, partition, broker, to_offset, cut_micros, epoch,
    min(offset), max(last_offset), 'acknowledged in sync'
  from in_sync
  left semi join surviving_records as s
    on (s.topic, s.partition, s.offset, s.value, s.leader_epoch)
      = (in_sync.topic, in_sync.partition, in_sync.offset, in_sync.value, in_sync.epoch)
  group by all
)
select *, last - first + 1 as records from had
