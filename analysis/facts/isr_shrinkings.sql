/*
about: Changes of a partition by which its ISR became smaller.
subject: exercise
kept: false
*/
with sizes as (
  select topic, partition, metadata_offset, size(isr) as replicas,
    lag(size(isr)) over (partition by topic, partition order by metadata_offset) as before
  from leaderships
)
select topic, partition, metadata_offset from sizes where replicas < before
