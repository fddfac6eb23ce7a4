/*
id: E7
definition: A group's committed offset stayed or grew on a partition, and its epoch fell.
permitted: one of the two does not have the epoch of its record, by its member's style; or by an election in between, as
  in `record_epoch_regressed`.
undecided: such an election is not known.
evaluates: pairs of commits in a row that both have an epoch and do not go back, except those of
  transactions.
source: 'KIP-101: epochs never fall along a log.'
needs: [committed_offsets]
evaluated: select count(*) as evaluated from pairs
exercised: commits_across_epochs
cases:
- permitted: regressed
  when: is_unseen and permit is not null
  cause: epoch {committed_epoch} was committed after epoch {previous_epoch}, which the log lacked
    by then; {permit.words}
- violation: regressed
  cause: epoch {committed_epoch} was committed after epoch {previous_epoch}, although the offset
    did not go back
  permitted_if: >-
    coalesce(commit_epoch, 'record') not in ('record', 'application')
    or coalesce(previous_style, 'record') not in ('record', 'application')
  undecided_if: is_unseen and is_unreported
evidence: previous_offset, previous_epoch, committed_epoch, commit_epoch, permit
place:
  offset_first: previous_offset
  offset_last: offset
  at: committed_micros
*/
with pairs as (
  select *, committed_micros + :clock_micros as until
  from stored_commits
  where not is_transactional and previous_epoch >= 0 and committed_epoch >= 0
    and offset >= previous_offset
),
fallen as (
  select *, {{ led_then("until") }} as led_by_then,
    coalesce({{ end_then("previous_epoch", "until") }} > previous_offset - 1, false) as is_unseen
  from pairs left join timelines using (topic, partition)
  where committed_epoch < previous_epoch
)
select * from {{ with_permit("fallen", "previous_epoch", "led_by_then", "previous_offset - 1") }}
