/*
id: B1
definition: One offset has several values, in the deliveries to groups and in the log at the end.
explanation: Several values under one leader epoch are a violation. If their epochs differ, the log
  was truncated and rewritten between these epochs, and an election in between has to permit it.
permitted: an election in between permits the loss; no overwritten value was sent with acks=all;
  or the topic was created again between the values.
undecided: a client reports no epoch; or an election in between is not known.
evaluates: every delivery.
source: 'KIP-101: an epoch has one leader, which writes each offset once.'
needs: [polls, leaderships]
evaluated: select coalesce(sum(records), 0) as evaluated from deliveries
later_epoch: epoch_last
cases:
- permitted: the topic was created again
  cause: >-
    {records} offsets have several values at one offset, of epochs {epoch_first} to {epoch_last}:
    the topic was created again
- violation: under one epoch
  cause: >-
    {records} offsets have several values at one offset, of epochs {epoch_first} to {epoch_last}:
    under one epoch
  undecided_if: epoch_first < 0
- permitted: rewritten by a truncation
  when: permit is not null
  cause: >-
    {records} offsets have several values at one offset, of epochs {epoch_first} to {epoch_last}:
    rewritten by a truncation; {permit.words}
  undecided_if: epoch_first < 0
- undecided: rewritten by a truncation
  when: is_unreported
  cause: >-
    {records} offsets have several values at one offset, of epochs {epoch_first} to {epoch_last}:
    rewritten by a truncation; how the leader was elected is not known
  permitted_if: is_not_required
- violation: rewritten by a truncation
  cause: >-
    {records} offsets have several values at one offset, of epochs {epoch_first} to {epoch_last}:
    rewritten by a truncation
  permitted_if: is_not_required
evidence: records, epoch_first, epoch_last, readers, permit
*/
select *, explanation as kind from {{ several_values("rival_values") }}
