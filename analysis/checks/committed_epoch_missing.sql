/*
id: E2
definition: A commit has no epoch, though the group knew the epoch of the previous record.
explanation: The group was delivered the previous record since it was opened, or had committed
  that offset with an epoch just before, or takes its epochs from elsewhere than its records.
permitted: the group does not commit the epochs of its records; or it is one of guests, and no
  commit of it has an epoch, so that nothing shows that its client commits any.
undecided: as clocks were apart, the record may have been delivered before the commit or after.
evaluates: every commit whose previous record has a known epoch that the group could know.
source: "KAFKA-20507: a position without an epoch can't be validated."
needs: [committed_offsets, polls, leaderships]
evaluated: select count(*) as evaluated from known
cases:
- violation: missing
  cause: the offset was committed without a leader epoch, so it cannot be validated
  permitted_if: coalesce(commit_epoch, 'record') not in ('record', 'application') or may_lack_epochs
  undecided_if: is_unclear
evidence: committed_epoch, record_epoch, led_epoch, commit_epoch
place:
  offset_first: offset
  offset_last: offset
  at: committed_micros
*/
with known as (
  select * from stored_commits where record_epoch is not null and could_know
)
select k.*, client = 'guest' and e.group is null as may_lack_epochs
from known as k
left join (select group, client from planned_groups) as g on g.group = k.group
left join (select distinct group from stored_commits where committed_epoch >= 0) as e
  on e.group = k.group
where committed_epoch = -1
