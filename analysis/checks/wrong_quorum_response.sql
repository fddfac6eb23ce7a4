/*
id: P20
definition: A controller accepted another epoch than its own, or returned another leader or
  divergence.
explanation: The kind of a finding is the rule's name in docs/protocol.md. The controller's epoch
  is bounded by the metadata logs, by the reports of leaders and by its earlier responses.
undecided: the epoch changed meanwhile, or what the controller had is not known exactly.
evaluates: >-
  every Fetch, Vote, BeginQuorumEpoch and EndQuorumEpoch about the metadata log that has a
  response, by each rule that is about it. A Vote whose last entry is not of an older epoch than
  the candidate's is about none: it is an INVALID_REQUEST of any epoch.
source: KIP-595; `KafkaRaftClient.handleFetchRequest` and the handlers of the other requests.
needs: [wire_calls, metadata_batches]
rules: true
*/
with calls as (
  select *, {{ error_in_words() }} as error from quorum_calls
),
accesses as (
  select *,
    case when is_older then 74 when is_newer then 75 when leads then 0 else 6 end as due_error
  from calls
  where api = 'FETCH' and error_code is not null
),
leaders as (
  select metadata_epoch as epoch, max(leader) as due_leader from quorum_leaders group by all
),
fetches as (
  select *,
    coalesce(floor = asked_epoch and asked_offset <= end_high, false) as may_fit,
    not coalesce(floor = asked_epoch and asked_offset <= end_low, false) as may_diverge,
    diverging_epoch < 0 as is_accepted,
    diverging_epoch = floor and diverging_offset between end_low and end_high
      and coalesce(record_bytes, 0) <= 0 as is_diverted
  from quorum_fetches
),
responses as (
  select {{ response }},
    case
      when is_older then 'quorum: older epoch'
      when is_newer then 'quorum: newer epoch'
      when not leads then 'quorum: not the leader'
      when not is_voter then 'quorum: fetch of a non-voter'
      else 'quorum: leader epoch'
    end as rule,
    {{ error_in_words("due_error") }} as expected,
    error as got,
    case
      when not (is_older or is_newer or is_own) then 'undecided'
      when error_code != due_error then 'violation'
    end as verdict
  from accesses
  union all
  select {{ response }},
    if(may_fit, 'quorum: no divergence', 'quorum: divergence'),
    if(may_fit, 'no divergence',
      format_string('epoch %s with an end from %s to %s', floor, end_low, end_high)),
    if(is_accepted, 'no divergence', format_string('epoch %s with end %s, %s bytes',
      diverging_epoch, diverging_offset, coalesce(record_bytes, 0))),
    case
      when log_start is null or log_start > 0 or asked_offset = 0 then 'undecided'
      when may_fit and may_diverge
        then if(is_accepted or is_diverted, 'undecided', 'violation')
      when may_fit then if(is_accepted, null, 'violation')
      else if(is_diverted, null, 'violation')
    end
  from fetches
  union all
  -- A Vote whose last entry is not of an older epoch than the candidate's is an INVALID_REQUEST.
  select {{ response }},
    case api
      when 'VOTE' then 'quorum: vote in an old epoch'
      when 'BEGIN_QUORUM_EPOCH' then 'quorum: begin of an old epoch'
      else 'quorum: end of an old epoch'
    end,
    'error 74 (FENCED_LEADER_EPOCH)', concat(error, if(is_granted, ', granted', '')),
    case
      when not is_older then 'undecided'
      when error_code != 74 or is_granted then 'violation'
    end
  from calls
  where error_code is not null and (api in ('BEGIN_QUORUM_EPOCH', 'END_QUORUM_EPOCH')
    or api = 'VOTE' and coalesce(asked_epoch < current_leader_epoch, true))
  union all
  select {{ response }}, 'quorum: current leader',
    format_string('an epoch from %s to %s and its leader, %s', epoch_low, epoch_high, due_leader),
    format_string('epoch %s, leader %s', epoch, leader),
    case
      when epoch < epoch_low or epoch > epoch_high then 'violation'
      when coalesce(leader, -1) < 0 then null
      when due_leader is null then 'undecided'
      when leader != due_leader then 'violation'
    end
  from calls left join leaders using (epoch)
  where epoch is not null
)
select * from responses
