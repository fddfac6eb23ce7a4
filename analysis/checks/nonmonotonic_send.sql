/*
id: B2
definition: Of two values that a producer sent to a partition in turn, the later has the lower
  offset.
explanation: >-
  An idempotent producer keeps the order when it retries, and so does one with
  `max.in.flight.requests.per.connection=1`. The order is judged only within one log: the log to
  which the later value was appended has to have had the earlier one. If the earlier value was lost
  before, its offset was free again; `lost_record` evaluates that.
permitted: the producer is not idempotent and has several requests in flight; or these settings
  are not known, and acks is not all.
undecided: the earlier value is below the log start, so that it is not known whether it was lost;
  or these settings are not known, acks=all, and the value is in no transaction.
evaluates: every acknowledged value, with the value that was acknowledged before it in the order
  of sending.
source: '`enable.idempotence`; `max.in.flight.requests.per.connection`.'
needs: [sends, log_starts]
evaluated: select coalesce(sum(records), 0) as evaluated from acknowledged_sends
cases:
- violation: within a transaction
  when: is_within
  cause: value {sequence} of {producer} is at offset {offset}; value {prev_sequence}, sent before
    it, is at offset {prev_offset}
  permitted_if: promise = 'permitted'
  undecided_if: promise = 'undecided' or not is_in_one_log
- violation: between sends
  cause: value {sequence} of {producer} is at offset {offset}; value {prev_sequence}, sent before
    it, is at offset {prev_offset}
  permitted_if: promise = 'permitted'
  undecided_if: promise = 'undecided' or not is_in_one_log
evidence: producer, sequence, prev_sequence, prev_offset, acks, is_idempotent, in_flight_max
place:
  offset_first: offset
  offset_last: prev_offset
*/
with in_turn as (
  select *, lag(struct(sequence + last_offset - offset as sequence, last_offset as offset, value,
    transaction)) over (partition by producer, topic, partition order by sequence) as before
  from sliced_acknowledged
),
-- The values whose predecessor has a higher offset. `value` and what begins with `prev_` are the
-- predecessor's; `value`, the first of its slice, stands for the whole slice.
reordered as (
  select producer, topic, partition, sequence, offset, acks, is_idempotent, in_flight_max,
    answered_micros as at, value as own_value, before.sequence as prev_sequence,
    before.offset as prev_offset, before.value as value,
    coalesce(transaction = before.transaction, false) as is_within,
    case
      when is_idempotent or in_flight_max = 1 then 'required'
      when in_flight_max > 1 and not is_idempotent or acks != 'all' then 'permitted'
      when transaction is not null then 'required'
      else 'undecided'
    end as promise
  from in_turn
  where offset <= before.offset
),
epochs_of_values as (
  select topic, partition, value, leader_epoch from surviving_records
  union all
  select topic, partition, value, acknowledged_epoch from lost_acknowledged
),
in_one_log as (
  select distinct later.*
  from reordered as later
  join surviving_records as held
    on (held.topic, held.partition, held.value) = (later.topic, later.partition, later.value)
  join epochs_of_values as own
    on (own.topic, own.partition, own.value) = (later.topic, later.partition, own_value)
  left join timelines as t on (t.topic, t.partition) = (later.topic, later.partition)
  where {{ had("own.leader_epoch", "held.leader_epoch", "prev_offset") }}
)
select *, true as is_in_one_log from in_one_log
union all
-- Below the log start nothing shows whether the log had the earlier value.
select reordered.*, false
from reordered
join log_bounds as b on (b.topic, b.partition) = (reordered.topic, reordered.partition)
where prev_offset < log_start
