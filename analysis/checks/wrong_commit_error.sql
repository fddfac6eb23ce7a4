/*
id: P10
definition: A coordinator accepted a commit that it has to refuse, or refused it with another
  error.
explanation: The kind of a finding is the rule's name in docs/protocol.md. Topics are those of the
  metadata log; groups, members and their epochs those of `__consumer_offsets`, and of earlier
  responses of their coordinator.
permitted: a release before 4.0, whose groups are of an older coordinator, returns
  ILLEGAL_GENERATION or UNKNOWN_MEMBER_ID for a group that does not
  exist.
undecided: the topic, the group or the member changed meanwhile, or the coordinator returned an
  error of its own state, of the transaction's or of authorization, which come first, or of a
  rebalance or a group.instance.id, which no source reports.
evaluates: every partition of an OffsetCommit and a TxnOffsetCommit with a response, and every
  unknown topic id of an OffsetFetch.
source: KIP-1319, Broker-Side; KIP-447; KIP-848; KIP-890; `ClassicGroup.validateOffsetCommit`,
  `ConsumerGroup.validateOffsetCommit`.
needs: [wire_calls, leaderships, committed_offsets]
commits: true
rules: true
cases:
- permitted: '{rule}'
  when: verdict = 'permitted'
  cause: >-
    {api} version {version} to broker {broker}: expected {expected}, got {got}, as coordinators
    before Kafka 4.0 do
*/
with due as (
  select *, rule in ('unknown topic id', 'unknown partition') as is_of_topic,
    {{ commit_error_in_words() }} as got,
    if(due_error = 0, 'no error', {{ commit_error_in_words("due_error") }}) as expected
  from due_commit_errors
),
judged as (
  select due.*,
    max(not is_of_topic and rule != 'accepted commit') over (partition by worker, seq)
      as is_request_refused,
    case
      -- First come a coordinator that is not ready, timeouts and authorization.
      when not is_decided or error_code in (7, 13, 14, 15, 16, 29, 30, 51, 53) then 'undecided'
      when error_code = due_error or due_error = 47 and error_code = 90 then null
      when is_static and error_code in (25, 82) then 'undecided'
      -- A classic group that waits for its assignment refuses what it would accept.
      when error_code = 27 and due_error in (0, 12) and is_member and not is_transactional
        then 'undecided'
      when rule like 'group not found%' and error_code in (22, 25) and release < 4 then 'permitted'
      -- No request shows the state of a transaction.
      when error_code in (48, 49) and due_error != 47 and is_transactional and not is_of_topic
        then 'undecided'
      else 'violation'
    end as verdict
  from due cross join run_conditions
),
responses as (
  select {{ response }}, rule, expected, got, verdict from judged
  union all
  select {{ response }}, 'topics first', expected, got, verdict
  from judged
  where is_of_topic and is_request_refused
)
select * from responses
