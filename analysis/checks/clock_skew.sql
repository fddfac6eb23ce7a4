/*
id: M3
definition: The clocks of two nodes may be more than 50 ms apart, or the clock of a node jumped
  so far.
explanation: >-
  By the readings of the driver, and by the monotonic clock of the node. All checks then compare
  times within that bound instead of 50 ms: the clock bound.
permitted: up to 1 s.
undecided: above 1 s.
evaluates: every reading of a clock.
source: '`Trace.clock_micros`.'
needs: [clocks]
evaluated: select count(*) as evaluated from clocks
cases:
- permitted: jump
  cause: the wall clock of {worker} jumped by {clock_jump_micros} us
  undecided_if: clock_jump_micros > 1000000
  evidence: worker, clock_jump_micros
- permitted: skew
  cause: the clocks of {first} and {last} may differ by {bound_micros} us
  undecided_if: bound_micros > 1000000
  evidence: first, last, bound_micros
*/
with apart as (
  select max_by(node, ahead_micros) as first, min_by(node, behind_micros) as last,
    min(at_micros) as at
  from clocks
)
-- `:clock_micros` is 50 ms, and what clocks were further apart.
select 'jump' as kind, null as at, worker, clock_jump_micros,
  null as first, null as last, null as bound_micros
from histories
where clock_jump_micros > :clock_micros - :skew_micros
union all
select 'skew', at, null, null, first, last, :clock_micros
from apart
where :skew_micros > 0 and first is not null
