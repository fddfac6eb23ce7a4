/*
id: D8
definition: A commit in force lay below the log start of that time, so that the group is out of
  range.
explanation: >-
  Reports the headroom: the time from the commit to the first report of a log start above it.
evaluates: commits in force when a member was assigned the partition, and at the end of the run.
source: >-
  KIP-107; `log.retention.*`: an offset below the log start is answered with OFFSET_OUT_OF_RANGE.
needs: [committed_offsets, log_starts, leaderships]
evaluated: select count(*) as evaluated from standing_commits
exercised: expired_logs
tree: true
cases:
- permitted: '{stood}'
  when: is_planned and passed_by != ''
  cause: committed offset {offset} was below log start {start_low} by {records} records; removed
    {passed_by}
- undecided: '{stood}'
  when: is_planned
  cause: committed offset {offset} was below log start {start_low} by {records} records
- violation: '{stood}'
  when: passed_by != ''
  cause: committed offset {offset} was below log start {start_low} by {records} records; removed
    {passed_by}
- violation: '{stood}'
  cause: committed offset {offset} was below log start {start_low} by {records} records
evidence: committed_epoch, start_low, records, headroom_seconds, passed_by, stood
place:
  offset_first: offset
  offset_last: start_low - 1
  at: coalesce(expired_micros, committed_micros)
*/
with expired as (
  select *, start_low - offset as records from standing_commits where start_low > offset
)
select * from {{ with_passing("expired", "offset") }}
