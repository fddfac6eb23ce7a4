/*
id: C1
definition: Each of two committed transactions wrote right after the other (Adya's G0).
explanation: In one partition or in two. Cycles of more than two transactions are not looked for.
permitted: 'always: a transaction is atomic, but its writes need not stand together.'
evaluates: every committed transaction.
source: KIP-98; Adya, Generalized Isolation Level Definitions.
needs: [transactions, sends]
evaluated: select count(*) as evaluated from transaction_ends where reported = 'committed'
cases:
- permitted: in one partition
  when: topic = back_topic and partition = back_partition
  cause: transactions {first.transaction} of {first.producer} and {second.transaction} of
    {second.producer} each wrote directly after a write of the other
- permitted: in two partitions
  cause: transactions {first.transaction} of {first.producer} and {second.transaction} of
    {second.producer} each wrote directly after a write of the other
evidence: first, second, back_topic, back_partition, back_offset
place:
  offset_first: offset
*/
select one.*, back.topic as back_topic, back.partition as back_partition,
  back.offset as back_offset
from write_edges as one
join write_edges as back on back.first = one.second and back.second = one.first
where one.first < one.second
