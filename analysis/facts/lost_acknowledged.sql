/*
about: |
  Acknowledged sends whose value is not in the surviving log, with who acknowledged them.

  An acknowledgement has an offset, but no epoch. The first of these that applies is reported:

  - `seen`: the value stood at that offset in a poll, or stands in any replica, surviving or not, or
    stood in one when a fault on its server ended.
  - `truncation`: a single broker that had led the partition truncated its log at or below the
    offset since the value was sent. A record is gone only if its leader's log was truncated, so it
    was that one, in its last leadership that began before the acknowledgement. Of what retention
    has deleted since, only if it led when the acknowledgement came, and truncated after that.
  - `offset`: the leader in force when the value was sent gave the offset to another record, which
    survived, so the leader before it acknowledged this one.
  - `guess`: who led when the acknowledgement came. A zombie's is guessed wrongly.
subject: acknowledgements
like: not_surviving
columns:
  known_by: by what its epoch is known; see above
  held_by: the brokers whose replicas held it before they were truncated, as far as that was
    observed
  acknowledged_by: the leader
  newer_epoch: that ended its leadership; null if none did
  until_micros: when it ended
  truncated_to: where that leader logged that it truncated it
*/
-- The structs sort by when a leadership began.
with leaders as (
  select topic, partition,
    collect_list(struct(from_micros, epoch, broker, until_micros, newer_epoch)) as led
  from leader_epochs
  group by all
),
cut as (
  select topic, partition, collect_list(struct(at_micros, to_offset, broker, from_micros)) as cuts
  from truncations join leader_epochs using (topic, partition, broker)
  group by all
),
taken as (
  select topic, partition, offset, max(leader_epoch) as taken_epoch
  from surviving_records left semi join not_surviving using (topic, partition, offset)
  group by all
),
sent as (
  select *, coalesce(intended_micros, answered_micros) - :clock_micros as sent_micros
  from not_surviving
  left join log_bounds using (topic, partition)
  left join leaders using (topic, partition)
  left join cut using (topic, partition)
  left join seen_epochs using (topic, partition, offset, value)
  left join taken using (topic, partition, offset)
),
cut_since as (
  select * except (cuts), filter(cuts, one -> one.to_offset <= offset
    and one.from_micros <= answered_micros and one.at_micros >= sent_micros) as cuts
  from sent
),
cut_by_one as (
  select *, array_min(cuts) as first_cut,
    if(size(array_distinct(transform(cuts, one -> one.broker))) = 1, cuts[0].broker, null) as cut_by
  from cut_since
),
candidates as (
  select *,
    array_max(filter(led, one -> one.epoch = seen_epoch
      and one.from_micros <= answered_micros + :clock_micros)) as seen,
    array_max(filter(led, one -> one.broker = cut_by and one.from_micros <= answered_micros))
      as truncated,
    array_max(filter(led, one -> one.broker >= 0 and one.until_micros <= sent_micros)) as before,
    array_max(filter(led, one -> one.from_micros <= sent_micros)) as at_first,
    array_max(filter(led, one -> one.from_micros <= answered_micros)) as at_last
  from cut_by_one
),
known as (
  select *, case
      when seen_epoch is not null then 'seen'
      -- Below the log start a record is missing anyway, so that a truncation proves less.
      when truncated is not null and (coalesce(offset >= log_start, true)
        or truncated = at_last and first_cut.at_micros >= at_last.until_micros - :clock_micros)
        then 'truncation'
      when taken_epoch = at_first.epoch and before is not null then 'offset'
      when at_last is not null then 'guess'
    end as known_by
  from candidates
),
led_by as (
  select *, case known_by
      when 'seen' then seen
      when 'truncation' then truncated
      when 'offset' then before
      when 'guess' then at_last
    end as leader
  from known
),
lost as (
  select *, if(known_by = 'truncation' or known_by = 'seen' and cut_by = leader.broker
    and first_cut.at_micros >= leader.until_micros - :clock_micros, first_cut, null) as its_cut
  from led_by
)
select worker, topic, partition, acks, outcome, error, intended_micros, answered_micros,
  transaction, is_idempotent, in_flight_max, offset, last_offset, records, producer, sequence,
  value, log_start, known_by, held_by, coalesce(seen_epoch, leader.epoch) as acknowledged_epoch,
  leader.broker as acknowledged_by, leader.newer_epoch as newer_epoch,
  leader.until_micros as until_micros, its_cut.to_offset as truncated_to,
  its_cut.at_micros as truncated_micros
from lost
