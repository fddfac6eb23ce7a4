/*
about: Faults on the workers of members, once for each member that a worker had.
subject: sessions
kept: false
columns:
  fault: its verb
*/
select distinct e.group, member, fault, injected_micros, proved_micros, healed_micros
from group_events as e join faults using (worker)
where target_kind = 'client'
