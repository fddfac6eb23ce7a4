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
- permitted: client without epochs
  cause: the group's guests commit no epoch in the whole run
- violation: missing
  cause: the offset was committed without a leader epoch, so it cannot be validated
  permitted_if: coalesce(commit_epoch, 'record') not in ('record', 'application')
  undecided_if: is_unclear
evidence: committed_epoch, record_epoch, led_epoch, commit_epoch
place:
  offset_first: offset
  offset_last: offset
  at: committed_micros
*/
with known as (
  select * from stored_commits where record_epoch is not null and could_know
),
without_epochs as (
  select group, true as is_without
  from stored_commits
  left semi join (select group from planned_groups where client = 'guest') using (group)
  group by all
  having max(committed_epoch) < 0
)
select known.*, if(is_without, 'client without epochs', 'missing') as kind
from known left join without_epochs using (group)
where committed_epoch = -1
