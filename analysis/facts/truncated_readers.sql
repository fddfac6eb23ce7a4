/*
about: Who was delivered records that a server truncated afterwards.
subject: exercise
kept: false
*/
with cuts as (
  select topic, partition, to_offset, at_micros as truncated_micros from truncations
)
select distinct group, topic, partition
from deliveries join cuts using (topic, partition)
where last_offset >= to_offset and at_micros <= truncated_micros + :clock_micros
