/*
id: P11
definition: An accepted commit is not stored, or is stored with other values than its request had;
  or a refused commit is stored.
explanation: The kind of a finding is the rule's name in docs/protocol.md. A request is compared
  with the stored commits of its group and partition that have its metadata and were stored between
  the request and the response.
evaluates: every partition of an OffsetCommit and a TxnOffsetCommit with a response.
source: KIP-320, OffsetCommit and TxnOffsetCommit, Offset Schema Changes; KIP-1319, Persisting
  topic IDs; `OffsetCommitValue`.
needs: [wire_calls, committed_offsets]
commits: true
rules: true
*/
{% macro stored_in_words(offset, epoch, producer, producer_epoch) -%}
format_string('offset %s, epoch %s, producer %s with epoch %s',
      {{ offset }}, {{ epoch }}, {{ producer }}, {{ producer_epoch }})
{%- endmacro %}
-- The request has a leader epoch since version 6 of OffsetCommit and version 2 of TxnOffsetCommit.
with commits as (
  select *, {{ stored_in_words("asked_offset",
      "if(version >= if(api = 'OFFSET_COMMIT', 6, 2), coalesce(asked_epoch, -1), -1)",
      "coalesce(producer_id, -1)", "coalesce(producer_epoch, -1)") }} as requested
  from commit_requests
  where api != 'OFFSET_FETCH'
),
stored as (
  select *, coalesce(metadata, '') as known_metadata,
    {{ stored_in_words("offset", "committed_epoch", "producer_id", "producer_epoch") }} as stored
  from committed_offsets
  where not is_tombstone
),
near as (
  select c.*, stored, stored = requested as is_same, s.offset = asked_offset as is_of_offset,
    s.topic_id as stored_id, value_version
  from commits as c
  left join stored as s on (s.group, s.topic, s.partition, s.known_metadata)
      = (c.group, c.topic, c.partition, c.metadata)
    and committed_micros between began_micros - :clock_micros and at_micros + :clock_micros
),
best as (
  select {{ response }}, asked_id, error_code, requested,
    coalesce(max(is_same), false) as is_stored,
    coalesce(max(is_of_offset), false) as is_offset_stored,
    coalesce(max_by(stored, is_same), 'nothing') as written,
    max_by(stored_id, is_same) as stored_id,
    max_by(value_version, is_same) as value_version,
    -- `OffsetCommitValue` has the leader epoch since version 3, the topic id since 4.
    if(max_by(stored_id, is_same) is null, 3, 4) as due_version
  from near
  group by all
),
responses as (
  select {{ response }}, 'stored commit' as rule, requested as expected, written as got,
    if(is_stored, null, 'violation') as verdict
  from best
  where error_code = 0
  union all
  -- After UNKNOWN_SERVER_ERROR (-1), REQUEST_TIMED_OUT (7) and NETWORK_EXCEPTION (13) the commit
  -- may be stored nevertheless.
  select {{ response }}, 'refused commit', 'nothing', written,
    if(is_offset_stored, 'violation', null)
  from best
  where error_code not in (0, -1, 7, 13)
  union all
  select {{ response }}, 'stored topic id', concat('topic id ', asked_id),
    concat('topic id ', coalesce(stored_id, 'none')),
    if(coalesce(stored_id = asked_id, false), null, 'violation')
  from best
  where error_code = 0 and is_stored and asked_id != ''
  union all
  select {{ response }}, 'version of a stored commit',
    concat('version ', cast(due_version as string), ' or later'),
    concat('version ', coalesce(cast(value_version as string), 'unknown')),
    if(coalesce(value_version >= due_version, false), null, 'violation')
  from best
  where error_code = 0 and is_stored
)
select * from responses
