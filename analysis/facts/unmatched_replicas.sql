/*
about: |
  Leader epochs of replicas whose batches have other offsets than their records.

  At or above the replica's log start. Control batches have no rows in `replica_records`.
subject: replicas
columns:
  batched: how many records by the batches
  recorded: how many by the records
*/
{# Twice the sum of the offsets of a range, modulo a prime: the sum of many may be no int64. #}
{% set prime = 2147483647 %}
{% set places = "((last_offset - first + 1) % " ~ prime ~ ") * ((first % " ~ prime
  ~ " + last_offset % " ~ prime ~ ") % " ~ prime ~ ") % " ~ prime %}
with batches as (
  select broker, topic, partition, leader_epoch, record_count, base_offset, last_offset,
    greatest(base_offset, coalesce(log_start_offset, 0)) as first
  from replica_batches left join log_starts using (broker, topic, partition)
  where not coalesce(is_control, false)
),
records as (
  select broker, topic, partition, leader_epoch, last_offset,
    greatest(first_offset, coalesce(log_start_offset, 0)) as first
  from replica_records left join log_starts using (broker, topic, partition)
),
by_batches as (
  select broker, topic, partition, leader_epoch,
    sum(if(first = base_offset, record_count, last_offset - first + 1)) as batched,
    sum({{ places }}) as batch_sum, min(first) as batch_first, max(last_offset) as batch_last
  from batches
  where last_offset >= first
  group by all
),
by_records as (
  select broker, topic, partition, leader_epoch,
    sum(last_offset - first + 1) as recorded,
    sum({{ places }}) as record_sum, min(first) as record_first, max(last_offset) as record_last
  from records
  where last_offset >= first
  group by all
)
select broker, topic, partition, leader_epoch,
  least(batch_first, record_first) as offset_first,
  greatest(batch_last, record_last) as offset_last,
  cast(coalesce(batched, 0) as bigint) as batched,
  cast(coalesce(recorded, 0) as bigint) as recorded
from by_batches full outer join by_records using (broker, topic, partition, leader_epoch)
where coalesce(batched, 0) != coalesce(recorded, 0)
  or coalesce(batch_sum % {{ prime }} != record_sum % {{ prime }}, true)
