/*
id: C4
definition: A read_committed group went past writes of a committed transaction that it was never
  delivered.
explanation: It got other writes of the transaction (`torn`), or none (`hidden`).
permitted: >-
  by an event after the write and before the group went past it: an election that permits its loss
  and started its epoch at or below it, a deletion up to a log start above it, or that the topic
  was created again; by a reset whose policy led the group past it; or by an election that permits
  the loss of its commit marker, as in `misapplied_marker`.
undecided: no source reports that the write was appended.
evaluates: every write of a committed transaction that a group went past.
source: 'KIP-98: a transaction is atomic over its partitions.'
needs: [transactions, sends, polls, group_events]
evaluated: select coalesce(sum(records), 0) as evaluated from passed_writes
cases:
- violation: torn
  when: seen > 0
  cause: >-
    {records} values of committed transaction {transaction} of {producer} were skipped; {seen}
    others were delivered{coalesce(concat('; ', permit.words), '')}
  permitted_if: permit is not null
  undecided_if: is_unreported
- violation: hidden
  cause: >-
    {records} values of committed transaction {transaction} of {producer} were skipped; {seen}
    others were delivered{coalesce(concat('; ', permit.words), '')}
  permitted_if: permit is not null
  undecided_if: is_unreported
evidence: records, producer, transaction, seen, permit
*/
with delivered as (
  select group, producer, transaction, sum(records) as seen
  from passed_writes left semi join sliced_polls using (group, topic, partition, value)
  group by all
),
missed as (
  select w.*, coalesce(seen, 0) as seen, timeline, marker_permit
  from passed_writes as w
  left anti join sliced_polls using (group, topic, partition, value)
  left join delivered using (group, producer, transaction)
  left join timelines using (topic, partition)
  left join lost_markers using (topic, partition, producer, transaction, marker_offset)
),
reached as (
  select group, topic, partition, first_offset as reached, at_micros from deliveries
  union all
  select group, topic, partition, position, at_micros from group_events where position is not null
),
passing as (
  select group, topic, partition, offset, answered_micros, min(at_micros) as passed_micros
  from missed join reached using (group, topic, partition)
  where reached > offset and at_micros >= answered_micros
  group by all
),
led as (
  select group, topic, partition, offset, answered_micros,
    min(struct(at_micros, cause, number, words)) as jump
  from missed join jumps_permitted using (group, topic, partition)
  where from_offset <= offset and number > offset
  group by all
),
placed as (
  select *
  from missed
  left join passing using (group, topic, partition, offset, answered_micros)
  left join led using (group, topic, partition, offset, answered_micros)
),
judged as (
  select w.* except (permit), coalesce(marker_permit, jump, permit) as event,
    s.value is not null as is_kept
  from {{ with_later_permit("placed", until="passed_micros") }} as w
  left join surviving_records as s using (topic, partition, value)
)
select group, topic, partition, producer, transaction, seen, offset is null as is_unreported,
  if(offset is not null and (not is_kept or event.cause = 'reset' or marker_permit is not null),
    event, null) as permit,
  min(offset) as offset_first, max(last_offset) as offset_last, sum(records) as records
from judged
group by all
