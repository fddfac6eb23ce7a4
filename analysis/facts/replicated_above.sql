/*
about: Records of an epoch that followers had while they were in the ISR, above a truncation.
subject: replicas
columns:
  cut_micros: when it was truncated
  end: exclusive
  since: acknowledged by all from then on
  until: and until then
*/
select topic, partition, broker, to_offset, cut_micros, epoch, start, end,
  s.at_micros + :clock_micros as since,
  least(s.until_micros - :clock_micros, cut_micros) as until
from survivors_above as a join leadership_states as s using (topic, partition)
where a.leader != broker and s.leader_epoch = a.epoch and array_contains(isr, broker)
  and s.at_micros + :clock_micros < cut_micros
