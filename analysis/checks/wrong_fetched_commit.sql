/*
id: P12
definition: An OffsetFetch response has another commit than the last that is stored, or another
  epoch.
explanation: The kind is the rule of docs/protocol.md. While a transaction ends, both its commits
  and those before are possible, and the response may be unstable or not.
undecided: the coordinator returned an error of its own state or of authorization.
evaluates: every partition of an OffsetFetch with a response whose topic id, if it has one, is
  known.
source: KIP-320, OffsetFetch; KIP-447, OffsetFetch; `OffsetMetadataManager.fetchOffsets`.
needs: [wire_calls, leaderships, committed_offsets]
evaluated: select count(*) as evaluated from responses
cases:
- undecided: '{rule}'
  when: verdict = 'undecided'
  cause: >-
    {api} version {version} to broker {broker}: what it has to return is not known exactly, got
    {got}
- violation: '{rule}'
  when: verdict = 'violation'
  cause: '{api} version {version} to broker {broker}: expected {expected}, got {got}'
evidence: worker, seq, broker, api, version, expected, got
place:
  at: at_micros
*/
{% macro commit_in_words(offset, metadata) -%}
format_string('offset %s, metadata "%s"', {{ offset }}, {{ metadata }})
{%- endmacro %}
{% macro epoch_in_words(offset, epoch) -%}
format_string('offset %s, epoch %s', {{ offset }}, {{ epoch }})
{%- endmacro %}
with fetches as (
  select {{ commit_call }}, broker, api, version, group, error_code, is_stable, began_micros,
    at_micros,
    if(error_code = 0, {{ commit_in_words("offset", "metadata") }},
      {{ commit_error_in_words() }}) as got_commit,
    if(error_code = 0, {{ epoch_in_words("offset", "epoch") }},
      {{ commit_error_in_words() }}) as got_epoch
  from commit_requests join requested_topics using ({{ commit_call }})
  where api = 'OFFSET_FETCH' and (asked_id = '' or is_present)
),
effects as (
  select {{ commit_call }}, place, stored_offset, stored_epoch, stored_metadata,
    sure_micros <= began_micros as is_sure,
    max(if(sure_micros <= began_micros, place, null)) over (partition by {{ commit_call }})
      as last_place
  from fetches join commit_effects using (group, topic, partition)
  where sure_micros <= began_micros or may_micros <= at_micros
),
possible as (
  select {{ commit_call }}, last_place,
    array_sort(collect_set({{ commit_in_words("stored_offset", "stored_metadata") }})) as commits,
    array_sort(collect_set({{ epoch_in_words("stored_offset", "stored_epoch") }})) as epochs
  from effects
  where place = last_place or not is_sure and place > coalesce(last_place, -1)
  group by all
),
open as (
  select {{ commit_call }},
    max(committed_micros + :clock_micros <= began_micros
      and coalesce(marker_micros - :clock_micros >= at_micros, true)) as is_open
  from fetches join committed_offsets using (group, topic, partition)
  where producer_id >= 0 and not is_tombstone and committed_micros <= at_micros + :clock_micros
    and coalesce(marker_micros + {{ marker_applied_micros }} >= began_micros - :clock_micros, true)
  group by all
),
due as (
  select *, is_stable and coalesce(is_open, false) as must_wait,
    is_stable and is_open is not null as may_wait,
    error_code in (14, 15, 16, 29, 30) as is_not_read,
    concat(if(last_place is null, array('offset -1, metadata ""'), array()),
      coalesce(commits, array())) as due_commits,
    concat(if(last_place is null, array('offset -1, epoch -1'), array()),
      coalesce(epochs, array())) as due_epochs
  from fetches
  left join possible using ({{ commit_call }})
  left join open using ({{ commit_call }})
),
responses as (
  select {{ response }}, 'fetched commit' as rule, array_join(due_commits, ' or ') as expected,
    got_commit as got,
    case
      when is_not_read then 'undecided'
      when error_code != 0 or not array_contains(due_commits, got_commit) then 'violation'
    end as verdict
  from due
  where error_code != 88 and not must_wait
  union all
  select {{ response }}, 'epoch of a commit', array_join(due_epochs, ' or '), got_epoch,
    case
      when is_not_read then 'undecided'
      when error_code != 0 or not array_contains(due_epochs, got_epoch) then 'violation'
    end
  from due
  where error_code != 88 and not must_wait and version >= 5
  union all
  select {{ response }}, 'pending commit',
    if(may_wait, {{ commit_error_in_words("88") }}, 'no error'), {{ commit_error_in_words() }},
    case
      when is_not_read then 'undecided'
      when not may_wait or error_code != 88 then 'violation'
    end
  from due
  where version >= 7 and (must_wait or error_code = 88)
)
select * from responses
