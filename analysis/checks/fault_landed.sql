/*
id: M1
definition: A fault has no evidence of its effect.
evaluates: every fault.
source: 'CONTRIBUTING.md, A fault: the evidence is measured on the cluster.'
needs: [faults]
evaluated: select count(*) as evaluated from faults
cases:
- undecided: not landed
  cause: the fault {fault} {target} showed no effect
evidence: fault, target, evidence
place:
  at: injected_micros
*/
select fault, {{ target_words }} as target, landed, evidence, injected_micros
from faults
where not landed
