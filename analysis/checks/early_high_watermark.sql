/*
id: G16
definition: A controller that leads the metadata quorum reported a high watermark above the offset
  that a majority of the voters has reached, or one that does not yet cover an entry of its epoch.
explanation: >-
  A leader reports its high watermark and the log end of each voter in one response. They are
  compared in the first response of an epoch, and in each one whose high watermark is higher than
  in the response before. Responses are samples: they can violate the rule, but not prove that it
  held between them.
undecided: since the response before, the set of voters changed or a voter's log became shorter,
  and the high watermark is above the majority.
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
first_entries as (
  select leader_epoch, min(base_offset) as start from entries group by all
),
followed as (
  select *,
    -- The offset that a majority of the voters, of which the leader is one, has reached.
    try_element_at(sort_array(log_ends, false), cast(size(log_ends) div 2 as int) + 1) as majority,
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
from sampled left join first_entries using (leader_epoch)
where watermark_before is null or high_watermark > watermark_before
