/*
about: |
  What proves that the high watermark of a leader was beyond an offset.

  The leader of the epoch reported a higher one, a group was delivered the record with this epoch,
  or the leader acknowledged it with acks=all. Within a leader epoch a high watermark does not go
  back, so it is beyond all lower offsets from then on.
subject: replicas
kept: false
columns:
  from_micros: when the epoch began
  reported_micros: the same, if it is by the leader's own report to the observer; else null
*/
with seen as (
  select topic, partition, leader_epoch as epoch, log_end_offset - 1 as offset, at_micros,
    at_micros as reported_micros
  from samples
  where broker = leader
  union all
  select topic, partition, leader_epoch, last_offset, at_micros, null from deliveries
)
select topic, partition, epoch, from_micros, offset, at_micros as proved_micros, reported_micros
from seen join leader_epochs using (topic, partition, epoch)
where at_micros >= from_micros and (until_micros is null or at_micros < until_micros)
union all
-- A send does not name the leader that acknowledged it; from then on it is no older one.
select topic, partition, epoch, from_micros, last_offset, answered_micros, null
from acknowledged_sends join leader_epochs using (topic, partition)
where acks = 'all' and intended_micros >= from_micros + {{ heard_micros }}
  and (until_micros is null or answered_micros < until_micros)
