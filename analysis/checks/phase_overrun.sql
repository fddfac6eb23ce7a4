/*
id: M7
definition: A phase of the run took longer than the limit of its stage.
explanation: A playground that waits for its next order has no limit.
undecided: 'always: the machine is too slow, which shows nothing about Kafka.'
evaluates: every phase.
source: '`contract/terms.py`.'
needs: [phases]
evaluated: select count(*) as evaluated from phases
cases:
- undecided: overrun
  cause: '{stage}: {doing} took {seconds:.0f} s; its limit is {limit_seconds} s'
evidence: stage, doing, seconds, limit_seconds
place:
  at: began_micros
*/
with took as (
  select *, (ended_micros - began_micros) / {{ micros_per_second }} as seconds from phases
)
select * from took where seconds > limit_seconds and doing != {{ by_hand }}
