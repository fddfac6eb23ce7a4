/*
id: F7
definition: A client reset a position that was within the leader's log, and on the branch of that
  log, at that time.
explanation: This is KAFKA-19902's symptom. The position is compared with the leader's log start,
  its log end and the start of each newer epoch at that time. One of a topic that was deleted, and
  created again since, is left out.
evaluates: every member that was opened.
source: KAFKA-19902; KIP-320.
needs: [group_events, log_starts, epoch_checkpoints]
evaluated: select count(*) as evaluated from group_events where change = 'opened'
exercised: resumed_positions
tree: true
cases:
- undecided: '{cause}'
  when: has_no_epoch
  cause: the position was within the log, but had no leader epoch to compare
- undecided: '{cause}'
  when: coalesce(from_offset < start_high, true)
  cause: the log start at that time may have been below or above the position
- undecided: '{cause}'
  when: timeline is null or may_be_off
  cause: the start of a newer leader epoch is not known
- undecided: '{cause}'
  when: end_before is null
  cause: no sample of the leader before the reset has the log end
- undecided: '{cause}'
  when: from_offset > end_before
  cause: the position was above the log end in the last sample before, but not in a later one
- violation: '{cause}'
  cause: the position was on the surviving branch; no reset was expected
evidence: policy, from_offset, from_epoch, to_offset, start_low, start_high, end_before,
  end_after, log_line
place:
  offset_first: least(from_offset, to_offset)
  offset_last: greatest(from_offset, to_offset)
  at: at_micros
*/
with committed as (
  select r.group, r.topic, r.partition, member, at_micros, from_offset,
    max_by(committed_epoch, committed_micros) as stored_epoch
  from judged_resets as r
  join client_offsets as c
    on (c.group, c.topic, c.partition, c.offset) = (r.group, r.topic, r.partition, r.from_offset)
  where not is_tombstone and committed_epoch >= 0 and committed_micros <= at_micros
  group by all
),
-- Of members that were open before their topic was created again, and delivered nothing of it yet.
of_former_topics as (
  select r.group, r.topic, r.partition, r.member, r.at_micros
  from judged_resets as r
  join recreations using (topic, partition)
  join group_events as e on (e.group, e.member) = (r.group, r.member)
  left join deliveries as d
    on (d.group, d.member, d.topic, d.partition) = (r.group, r.member, r.topic, r.partition)
    and d.at_micros between created_micros and r.at_micros
  where e.at_micros < created_micros and d.at_micros is null
  group by all
),
left_positions as (
  select * except (from_epoch),
    if(from_epoch < 0, coalesce(stored_epoch, from_epoch), from_epoch) as from_epoch
  from judged_resets
  left anti join of_former_topics using (group, topic, partition, member, at_micros)
  left join committed using (group, topic, partition, member, at_micros, from_offset)
),
sampled as (
  select * from {{ with_log_ends("left_positions") }}
),
bounded as (
  select * except (end_after), coalesce(end_after, log_end) as end_after,
    from_epoch < 0 as has_no_epoch
  from {{ with_log_starts("sampled") }}
  join log_bounds using (topic, partition)
  left join timelines using (topic, partition)
)
select *,
  {{ may_be_overwritten("from_epoch", "from_offset", "at_micros + :clock_micros") }} as may_be_off
from bounded
where from_offset >= start_low and from_offset <= greatest(end_before, end_after)
  and if(has_no_epoch, coalesce(from_offset <= end_before, true),
    (timeline is null or {{ has_begun("from_epoch", "at_micros + :clock_micros") }})
      and not {{ is_overwritten("from_epoch", "from_offset", "at_micros + :clock_micros") }})
