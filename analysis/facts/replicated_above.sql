/*
about: Records of an epoch that followers had while they were in the ISR, above a truncation.
subject: replicas
columns: |
  topic string
  partition int
  broker int
  to_offset bigint
  cut_micros bigint: when it was truncated
  epoch int
  start bigint
  end bigint: exclusive
  since bigint: acknowledged by all from then on
  until bigint: and until then
*/
select topic, partition, broker, to_offset, cut_micros, epoch, start, end,
  s.at_micros + :clock_micros as since,
  least(s.until_micros - :clock_micros, cut_micros) as until
from survivors_above as a join leadership_states as s using (topic, partition)
where a.leader != broker and s.leader_epoch = a.epoch and array_contains(isr, broker)
  and s.at_micros + :clock_micros < cut_micros
