/*
about: |
  What happened to the log of a partition, in words: its leader epochs and its ISR within them,
  truncations, and advances of the log start.
subject: moments
kept: false
optional: [leadership_states, truncations, log_start_changes]
columns:
  kind: epoch, isr, truncation or deletion
  epoch: the leader epoch that begins; null if none does, or without a leader
  place: in the metadata log; null of what is not there
  until_micros: when the next state of the epoch or the ISR began
  broker: whose log it is; null of an epoch and an ISR
  offset: to which it was truncated; else null
*/
with states as (
  select *, lag(leader_epoch) over (partition by topic, partition order by metadata_offset)
    as epoch_before
  from leadership_states
)
select topic, partition, at_micros, 'controller' as who,
  format_string('epoch %s: %s leads, ISR [%s]%s', leader_epoch,
    if(leader < 0, 'no broker', concat('broker ', cast(leader as string))), array_join(isr, ', '),
    if(size(elr) > 0, concat(', ELR [', array_join(elr, ', '), ']'), '')) as what,
  if(leader_epoch <=> epoch_before, 'isr', 'epoch') as kind,
  if(leader < 0, null, leader_epoch) as epoch, metadata_offset as place,
  until_micros, cast(null as int) as broker, cast(null as bigint) as offset
from states
union all
select topic, partition, at_micros, format_string('broker %s', broker),
  format_string('truncates its log to %s', to_offset), 'truncation', null, null, null, broker,
  to_offset
from truncations
union all
select topic, partition, at_micros, format_string('broker %s', broker),
  format_string('deletes what is below %s (%s)', log_start_offset, reason), 'deletion', null, null,
  null, broker, null
from log_start_changes
