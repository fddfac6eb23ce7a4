/*
id: P6
definition: A broker refused a permitted OffsetForLeaderEpoch, or responded to one that is not
  permitted.
explanation: The kind of a finding is the rule's name in docs/protocol.md. A broker has applied an
  entry if it has accepted a leader epoch that is later in the metadata log.
undecided: the broker may not have applied an entry yet, or the principal has a denying one.
evaluates: every partition of an OffsetForLeaderEpoch with a response, on a connection with a
  login.
source: KIP-320, ACL Changes; `KafkaApis.handleOffsetForLeaderEpochRequest`.
needs: [wire_calls, leaderships, acls]
rules: true
*/
with asked as (
  select * from broker_calls
  where api = 'OFFSET_FOR_LEADER_EPOCH' and principal is not null and error_code is not null
),
-- A broker has applied what is before the epoch that it had accepted.
applied as (
  select topic, partition, leader_epoch as epoch_low, min(metadata_offset) as applied_offset
  from leaderships
  group by all
),
entries as (
  select {{ call }}, permission = 'DENY' as is_denial,
    permission = 'ALLOW' and resource_type = 'CLUSTER'
      and operation in ('CLUSTER_ACTION', 'ALL') as permits_action,
    permission = 'ALLOW' and resource_type = 'TOPIC'
      and (resource_name in (topic, '*')
        or pattern_type = 'PREFIXED' and startswith(topic, resource_name))
      -- These imply Describe (`AclEntry`, `StandardAuthorizerData`).
      and operation in ('DESCRIBE', 'READ', 'WRITE', 'DELETE', 'ALTER', 'ALL') as permits_describe,
    coalesce(metadata_offset < applied_offset
      and coalesce(removed_micros - :clock_micros > asked.at_micros, true), false) as is_applied
  from asked
  join acls using (principal)
  left join applied using (topic, partition, epoch_low)
  where acls.at_micros <= asked.at_micros + :clock_micros
    and coalesce(removed_micros + :clock_micros >= began_micros, true)
),
permissions as (
  select {{ call }}, max(is_denial) as is_denied,
    max(permits_action) as may_act, max(permits_describe) as may_describe,
    max(is_applied and (permits_action or permits_describe)) as is_permitted
  from entries
  group by all
),
ruled as (
  select *,
    case
      when may_act then 'cluster action'
      when may_describe then 'describe on the topic'
      else 'unauthorized'
    end as rule
  from asked left join permissions using ({{ call }})
),
responses as (
  select {{ response }}, rule,
    if(rule = 'unauthorized', 'error 29 (TOPIC_AUTHORIZATION_FAILED)',
      'no error of the authorization') as expected,
    {{ error_in_words() }} as got,
    case
      when is_denied then 'undecided'
      when rule = 'unauthorized' then if(error_code = 29, null, 'violation')
      when error_code in (29, 31) then if(is_permitted, 'violation', 'undecided')
    end as verdict
  from ruled
)
select * from responses
