/*
about: |
  Writes of committed transactions that read_committed groups went past.

  A write has a row if it was in the log when the group went past its offset, even if it was
  truncated later; or if no source reports where it was appended.
subject: transactions
columns:
  last_offset: inclusive
  marker_offset: of the control record that commits it
*/
select group, topic, partition, producer, transaction, value, offset, last_offset, records,
  answered_micros, marker_offset
from transactional_writes
join committed_readers using (topic)
join final_positions using (group, topic, partition)
where (ended_as = 'committed' or reported = 'committed' and ended_as = 'aborted')
  and (offset is null or offset >= first_offset
    and (offset < final_position or offset < position and answered_micros <= seen_micros))
