/*
id: D9
definition: A commit as its client reports it, and the stored commit, differ.
explanation: An acknowledged commit is stored with its offset and its epoch; a failed one, and
  one with nothing to commit, is not stored. `history_complete` finds a stored commit that no
  client reports.
undecided: >-
  the failed commit took so long (100 ms or more) that the client may have retried it: an earlier
  attempt may have been stored.
evaluates: every commit that a client reports.
source: '`GroupCoordinator.commitOffsets`; `ConsumerCoordinator.commitOffsetsSync`.'
needs: [commits, committed_offsets]
evaluated: select count(*) as evaluated from asked_commits
cases:
- violation: '{kind}'
  cause: >-
    {reporter} reported a commit of offset {asked_offset} with epoch {asked_epoch} as {outcome};
    offset {stored_offset} with epoch {stored_epoch} is stored
  undecided_if: outcome = 'failed' and coalesce(took_micros >= 100000, true)
evidence: member, outcome, asked_offset, asked_epoch, stored_offset, stored_epoch
place:
  offset_first: stored_offset
  offset_last: stored_offset
  at: stored_micros
*/
select *, if(client = 'guest', concat('the guest of ', member), member) as reporter
from stored_otherwise left join (select group, client from planned_groups) using (group)
where kind is not null
