/*
about: |
  The commits that each OffsetFetch may return: those that may have been in effect at a moment
  between the request and its response.

  These are the last commit that was surely in effect before the request, and every later one that
  may have taken effect before the response. If no commit was surely in effect, the response may
  also have none (offset -1).
subject: commit_calls
columns:
  due_commits: each with its offset and metadata, in words
  due_epochs: each with its offset and leader epoch, in words
  is_open: whether a transaction that committed this group and partition was open from the request
    to the response; null if none was open at any moment
*/
with fetches as (
  select {{ commit_call }}, group, began_micros, at_micros
  from commit_requests
  where api = 'OFFSET_FETCH'
),
-- `place` orders the commits of a partition; last_place is that of the last sure one.
effects as (
  select {{ commit_call }}, place, coalesce(sure_micros < began_micros, false) as is_sure,
    {{ commit_in_words("stored_offset", "stored_metadata") }} as commit,
    {{ commit_epoch_in_words("stored_offset", "stored_epoch") }} as epoch,
    max(if(sure_micros < began_micros, place, null)) over (partition by {{ commit_call }})
      as last_place
  from fetches join commit_effects using (group, topic, partition)
  where sure_micros < began_micros or may_micros <= at_micros
),
possible as (
  select {{ commit_call }}, last_place, array_sort(collect_set(commit)) as commits,
    array_sort(collect_set(epoch)) as epochs
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
)
select {{ commit_call }}, is_open,
  concat(if(last_place is null, array({{ commit_in_words("-1", "''") }}), array()),
    coalesce(commits, array())) as due_commits,
  concat(if(last_place is null, array({{ commit_epoch_in_words("-1", "-1") }}), array()),
    coalesce(epochs, array())) as due_epochs
from fetches
left join possible using ({{ commit_call }})
left join open using ({{ commit_call }})
