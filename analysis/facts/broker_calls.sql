/*
about: |
  Requests about partitions, with what the broker knew.

  Its leader epoch has bounds, which hold at some time between the request and its response. A
  broker has no later epoch than the metadata log at the response. It has no older one than it
  accepted before the request, in a request of the test or in a ListOffsets of the observer.

  The metadata log is left out: its leaders and epochs are those of the quorum (`quorum_calls`).
subject: wire
columns:
  epoch_low: 'the lower bound of the broker''s leader epoch of the partition; null: unknown'
  epoch_high: the upper one
  leads: whether the broker leads it in the epoch `epoch_high`
  known_epoch: the broker's epoch, by its bounds, or because it accepted that of the request
*/
with calls as (
  select {{ call }}, broker, principal, api, version, asked_replica, current_leader_epoch,
    asked_epoch, asked_offset, asked_timestamp, error_code, is_retriable, leader, epoch, offset,
    diverging_epoch, diverging_offset, record_bytes, began_micros, at_micros, client,
    coalesce(current_leader_epoch >= 0
      and error_code not in ({{ epoch_refusals }}, {{ uncompared_errors }}), false) as is_accepted
  from {{ of_present_topic("wire_calls", "began_micros") }}
  where topic != {{ metadata_log }}
),
led as (
  select * from {{ of_present_topic("leaderships", "at_micros") }}
),
newest as (
  select {{ call }}, max(leader_epoch) as epoch_high, max_by(led.leader, metadata_offset) as led_by
  from calls join led using (topic, partition)
  where led.at_micros <= calls.at_micros + :clock_micros
  group by all
),
accepted as (
  select broker, topic, partition, current_leader_epoch as epoch, at_micros
  from calls
  where is_accepted
  union all
  select broker, topic, partition, leader_epoch, at_micros
  from {{ of_present_topic("samples", "at_micros") }}
  where log_end_offset >= 0
),
first_accepted as (
  select broker, topic, partition, epoch as proved_epoch, min(at_micros) as proved_micros
  from accepted
  group by all
),
proved as (
  select {{ call }}, max(proved_epoch) as epoch_low
  from calls join first_accepted using (broker, topic, partition) join newest using ({{ call }})
  where proved_micros <= began_micros and proved_epoch <= epoch_high
  group by all
)
select * except (is_accepted, led_by), coalesce(broker = led_by, false) as leads,
  case
    when is_accepted and current_leader_epoch between coalesce(epoch_low, 0) and epoch_high
      then current_leader_epoch
    when epoch_low = epoch_high then epoch_low
  end as known_epoch
from calls left join newest using ({{ call }}) left join proved using ({{ call }})
