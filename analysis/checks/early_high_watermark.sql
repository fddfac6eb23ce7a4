/*
id: G16
definition: A leader's high watermark was above what a majority has, or moved before its own
  epoch did.
explanation: >-
  A leader reports its high watermark and how far each voter has fetched in one response. It is
  compared in each response in which the high watermark is higher than in the one before. A rule
  about the order in time can't be proved by samples: the result is that none refutes it.
undecided: the voters changed, or one of them lost its log, since the response before.
evaluates: every response of a leader with a high watermark.
source: KIP-595; `LeaderState.maybeUpdateHighWatermark`.
needs: [quorum_samples]
evaluated: select count(*) as evaluated from sampled
cases:
- violation: before an entry of the epoch
  when: high_watermark <= start
  cause: controller {leader} reported high watermark {high_watermark} in epoch {leader_epoch},
    which began at offset {start}; of voters {to_json(voters)} the logs ended at
    {to_json(log_ends)}
- undecided: not on a majority
  when: high_watermark > majority and has_changed
  cause: controller {leader} reported high watermark {high_watermark} in epoch {leader_epoch},
    which began at offset {start}; of voters {to_json(voters)} the logs ended at
    {to_json(log_ends)}
- violation: not on a majority
  when: high_watermark > majority
  cause: controller {leader} reported high watermark {high_watermark} in epoch {leader_epoch},
    which began at offset {start}; of voters {to_json(voters)} the logs ended at
    {to_json(log_ends)}
evidence: leader, leader_epoch, high_watermark, voters, log_ends, start
place:
  offset_last: high_watermark - 1
  at: at_micros
*/
with entries as (
  select metadata_epoch as leader_epoch, base_offset from metadata_batches where leader is not null
  union all
  select metadata_epoch, base_offset from cut_metadata_batches where leader is not null
),
epoch_starts as (
  select leader_epoch, min(base_offset) as start from entries group by all
),
followed as (
  select *,
    -- The leader counts.
    element_at(sort_array(log_ends, false), cast(size(log_ends) div 2 as int) + 1) as majority,
    lag(high_watermark) over in_epoch as watermark_before,
    lag(voters) over in_epoch as voters_before,
    lag(array_min(log_ends)) over in_epoch as least_before
  from quorum_samples
  window in_epoch as (partition by server, leader_epoch order by at_micros)
),
sampled as (
  select * from followed where high_watermark >= 0
)
select *, coalesce(to_json(voters) != to_json(voters_before)
    or array_min(log_ends) < least_before, false) as has_changed
from sampled left join epoch_starts using (leader_epoch)
where watermark_before is null or high_watermark > watermark_before
