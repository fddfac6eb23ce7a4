/*
id: G14
definition: A leader was elected from outside the ISR and the eligible leader replicas.
explanation: Such an election leaves the leader alone in the ISR.
permitted: by `unclean.leader.election.enable`; by an order of an administrator that came before
  (KIP-460); or no replica was in sync or eligible and the last leader came back (KIP-966).
evaluates: every election.
source: '`PartitionChangeBuilder`; KIP-704.'
needs: [leaderships]
evaluated: select count(*) as evaluated from elections
exercised: leader_changes
tree: true
later_epoch: leader_epoch
cases:
- violation: unconfigured
  cause: broker {leader} was elected in epoch {leader_epoch}, but was not in the ISR
    {to_json(isr_before)} ({kind})
- permitted: '{kind}'
  cause: broker {leader} was elected in epoch {leader_epoch}, but was not in the ISR
    {to_json(isr_before)} ({kind})
evidence: leader, leader_epoch, isr_before, elr_before, metadata_offset
*/
select *, epoch as leader_epoch, at_micros as at from elections where is_unclean
