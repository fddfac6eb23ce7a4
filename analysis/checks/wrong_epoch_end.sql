/*
id: P2
definition: A leader returned another epoch or end offset than its epoch cache has.
explanation: >-
  The kind of a finding is the rule's name in docs/protocol.md. The end of the latest epoch is
  compared with bounds: the high watermark before, and the end of the log after the run.
undecided: the leader's epoch, its log start or the start of an epoch is not known exactly.
evaluates: every partition of an OffsetForLeaderEpoch that a leader did not refuse because of its
  epoch.
source: KIP-101 and KIP-279, OffsetsForLeaderEpoch; `LeaderEpochFileCache.endOffsetFor`;
  KAFKA-19902, step 6.
needs: [wire_calls, leaderships]
rules: true
*/
with responses as (
  select {{ response }},
    case
      when asked_epoch = known_epoch then 'end of the latest epoch'
      when due_epoch < 0 then 'end of an unknown epoch'
      when asked_floor is null then 'end of a removed epoch'
      when asked_floor = asked_epoch then 'end of a known epoch'
      else 'end of a skipped epoch'
    end as rule,
    format_string('epoch %s, end offset %s', due_epoch, {{ end_in_words() }}) as expected,
    if(error_code = 0, format_string('epoch %s, end offset %s', epoch, offset),
      {{ error_in_words() }}) as got,
    case
      when not is_due_known then 'undecided'
      when error_code != 0 or epoch != due_epoch or offset is null
        or not offset between due_low and coalesce(due_high, offset) then 'violation'
    end as verdict
  from leader_calls join due_epochs using ({{ call }})
  where api = 'OFFSET_FOR_LEADER_EPOCH' and asked_epoch is not null
)
select * from responses
