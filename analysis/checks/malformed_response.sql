/*
id: P5
definition: A response can't be decoded by the schema of its version, or lacks what was asked for.
explanation: The kind of a finding is the rule's name in docs/protocol.md. Requests whose
  connection failed are left out.
evaluates: every partition that a request with a response asked about, and every response that
  could not be decoded; of OffsetForLeaderEpoch the throttle time, too.
source: KIP-320, Protocol Changes; the message schemas of Kafka's release.
needs: [wire_calls]
rules: true
*/
with calls as (
  select *, coalesce(failure like 'MalformedResponseError%', false) as is_malformed from wire_calls
),
responses as (
  select {{ response }}, 'schema' as rule,
    if(is_malformed, 'a response of its version', 'every partition of the request') as expected,
    coalesce(failure, format_string('none of %s-%s', topic, partition)) as got,
    if(is_malformed or topic is not null and error_code is null, 'violation', null) as verdict
  from calls
  where client is null and (response is not null or is_malformed)
  union all
  select {{ response }}, 'throttle time', 'a throttle time', format_string('%s', throttle_ms),
    if(coalesce(throttle_ms, -1) < 0, 'violation', null)
  from calls
  where api = 'OFFSET_FOR_LEADER_EPOCH' and version >= 2 and response is not null
)
select * from responses
