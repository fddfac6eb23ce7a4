/*
id: F1
definition: A client noticed that its position lies on an abandoned branch.
explanation: By a reset or a LogTruncationException. Reports the latency since the first later
  epoch began, and whether the client was led to where the branches part.
evaluates: the deliveries of each epoch to each group.
source: 'KIP-320: OffsetForLeaderEpoch validates a position.'
needs: [polls, epoch_checkpoints, log_starts, leaderships]
evaluated: select count(*) as evaluated from branch_reads
exercised: truncated_readers
tree: true
cases:
- permitted: raised
  when: is_raised or to_offset is null
  cause: epoch {from_epoch} ends at {forked_at} in the log; the client detected the truncation at
    {from_offset}, {latency_ms:.0f} ms after the next epoch began
- permitted: at the divergence
  when: is_exact
  cause: epoch {from_epoch} ends at {forked_at} in the log; the client detected the truncation at
    {from_offset}, {latency_ms:.0f} ms after the next epoch began
- permitted: elsewhere
  cause: epoch {from_epoch} ends at {forked_at} in the log; the client detected the truncation at
    {from_offset}, {latency_ms:.0f} ms after the next epoch began
evidence: member, from_epoch, to_offset, forked_at, is_exact, records, latency_ms
place:
  offset_first: forked_at
  offset_last: from_offset
  at: at_micros
*/
with detected as (
  select r.*, min(l.at_micros) filter (where leader_epoch > from_epoch) as began_micros
  from truncation_reports as r left join leaderships as l using (topic, partition)
  where forked_at < from_offset
  group by all
)
select *, from_offset - forked_at as records, coalesce(to_offset = forked_at, false) as is_exact,
  (at_micros - began_micros) / 1000 as latency_ms
from detected
