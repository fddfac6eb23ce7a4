/*
id: P12
definition: An OffsetFetch response has another commit than the last that is stored, or another
  epoch.
explanation: The kind of a finding is the rule's name in docs/protocol.md. While a transaction
  ends, both its commits and those before are possible, and the response may be unstable or not.
  An older commit than the last, or none, around a change of the coordinator is left to
  `stale_fetched_commit`, as is one that was never committed.
undecided: the coordinator returned an error of its own state, other than after its predecessor had
  stored the last commit of the group, or one of authorization.
evaluates: every partition of an OffsetFetch with a response whose topic id, if it has one, is
  known.
source: KIP-320, OffsetFetch; KIP-447, OffsetFetch; `OffsetMetadataManager.fetchOffsets`.
needs: [wire_calls, leaderships, committed_offsets]
commits: true
rules: true
*/
with fetches as (
  select *, is_stable and coalesce(is_open, false) as must_wait,
    is_stable and is_open is not null as may_wait,
    error_code in (7, 14, 15, 16, 29, 30) as is_not_read,
    {{ commit_error_in_words() }} as error
  from commit_requests
  join requested_topics using ({{ commit_call }})
  join due_fetched_commits using ({{ commit_call }})
  where asked_id = '' or is_present
),
-- A broker that had not stored the last commit of the group was no coordinator yet, or a new one.
new_coordinators as (
  select f.worker, f.seq, f.topic, f.partition, f.asked_id
  from fetches as f
  join commit_effects as e using (group)
  join leader_epochs as l on l.topic = {{ offsets_topic }} and l.partition = e.offsets_partition
    and l.epoch = e.log_epoch
  where f.error_code in (7, 14, 15, 16) and e.sure_micros <= f.began_micros
  group by f.worker, f.seq, f.topic, f.partition, f.asked_id, f.broker
  having max_by(l.broker, e.sure_micros) != f.broker
),
read as (
  select *,
    if(error_code = 0, {{ commit_in_words("offset", "metadata") }}, error) as got_commit,
    if(error_code = 0, {{ commit_epoch_in_words("offset", "epoch") }}, error) as got_epoch
  from fetches
  left anti join stale_fetches using ({{ commit_call }})
  left anti join new_coordinators using ({{ commit_call }})
  where error_code != 88 and not must_wait
),
responses as (
  select {{ response }}, 'fetched commit' as rule, array_join(due_commits, ' or ') as expected,
    got_commit as got,
    case
      when is_not_read then 'undecided'
      when error_code != 0 or not array_contains(due_commits, got_commit) then 'violation'
    end as verdict
  from read
  union all
  select {{ response }}, 'epoch of a commit', array_join(due_epochs, ' or '), got_epoch,
    case
      when is_not_read then 'undecided'
      when error_code != 0 or not array_contains(due_epochs, got_epoch) then 'violation'
    end
  from read
  where version >= 5
  union all
  select {{ response }}, 'pending commit',
    if(may_wait, 'error 88 (UNSTABLE_OFFSET_COMMIT)', 'no error'), error,
    case
      when is_not_read then 'undecided'
      when not may_wait or error_code != 88 then 'violation'
    end
  from fetches
  where version >= 7 and (must_wait or error_code = 88)
)
select * from responses
