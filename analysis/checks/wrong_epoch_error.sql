/*
id: P1
definition: A broker accepted another leader epoch than its own, or refused its own, or none.
explanation: The kind of a finding is the rule's name in docs/protocol.md. The broker's epoch is
  bounded by the metadata log, and by the epochs that it accepted before.
undecided: the epoch changed meanwhile, or the broker has not shown it yet, or it returned an
  error of the topic, of authorization or of its disk, which come first.
evaluates: every partition of a Fetch, ListOffsets and OffsetForLeaderEpoch with a response, but
  for those of a principal that is not authorized; and each refusal of a wrong epoch, by the
  exception of its error in the client library.
source: KIP-320, Leader Fetch Handling, API Changes; `Partition.checkCurrentLeaderEpoch`.
needs: [wire_calls, leaderships]
rules: true
*/
with compared as (
  select *,
    coalesce(current_leader_epoch >= 0 and current_leader_epoch < epoch_low, false) as is_older,
    coalesce(current_leader_epoch > epoch_high, false) as is_newer,
    coalesce(current_leader_epoch < epoch_high, true) as may_be_older,
    coalesce(current_leader_epoch > epoch_low, true) as may_be_newer,
    error_code in ({{ epoch_refusals }}) as is_refused,
    {{ error_in_words() }} as error
  from broker_calls
  where api in ({{ validating_apis }}) and error_code is not null
    and (principal is null or error_code != 29)
),
responses as (
  select {{ response }},
    case
      when current_leader_epoch is null then 'version without epoch'
      when current_leader_epoch < 0 then 'no epoch'
      when not is_older and not is_newer then 'leader epoch'
      when not leads then 'follower'
      when asked_replica >= 0 then 'replica'
      when is_older then 'older epoch'
      else 'newer epoch'
    end as rule,
    case
      when is_older then 'error 74 (FENCED_LEADER_EPOCH)'
      when is_newer then 'error 75 (UNKNOWN_LEADER_EPOCH)'
      else 'no error of the epoch'
    end as expected,
    error as got,
    case
      when coalesce(current_leader_epoch, -1) < 0 then if(is_refused, 'violation', null)
      when error_code in ({{ uncompared_errors }}) then 'undecided'
      when error_code = 74 and not may_be_older then 'violation'
      when error_code = 75 and not may_be_newer then 'violation'
      when is_older or is_newer then if(is_refused, null, 'violation')
      when is_refused or epoch_high is null then 'undecided'
    end as verdict
  from compared
  union all
  select {{ response }}, 'retriable', 'a retriable exception',
    concat(error, if(is_retriable, '', ', not retriable')),
    if(is_retriable, null, 'violation')
  from compared
  where (is_older or is_newer) and is_retriable is not null
    and error_code not in (0, {{ uncompared_errors }})
)
select * from responses
