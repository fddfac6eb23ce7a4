/*
id: B4
definition: Within a session, a record was delivered after one with a higher offset.
permitted: between two polls the member returned to an offset that its group had committed, as
  after a rebalance that begins and ends within one poll.
undecided: a guest may have been reset unseen between the polls.
evaluates: every delivery.
source: '`KafkaConsumer`: the position moves past each record that poll returns.'
needs: [polls, group_events]
evaluated: select coalesce(sum(records), 0) as evaluated from deliveries
cases:
- violation: within a poll
  when: seq = prev_seq
  cause: '{member} received offset {first_offset} after offset {prev_offset} within a session'
- permitted: back to its commit
  when: is_commit
  cause: '{member} received offset {first_offset} after offset {prev_offset} within a session'
- violation: between polls
  cause: '{member} received offset {first_offset} after offset {prev_offset} within a session'
  undecided_if: hidden_reset is not null
evidence: member, prev_offset, prev_epoch, first_epoch
place:
  offset_first: first_offset
  offset_last: prev_offset
  at: at_micros
*/
select * from jumps_back left join planned_groups using (group)
