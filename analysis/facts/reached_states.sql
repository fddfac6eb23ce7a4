/*
about: Each state of the protocol that a run reached, by all of its values; see `protocol_states`.
subject: coverage
optional: [protocol_states]
columns: |
  leader string
  isr string
  gap string
  log_start string
  record string
  coordinator string
  members string
  transaction string
  events bigint: at which the state was seen
  groups array<string>: of which it was
  pairs bigint: of a group and a partition, of which it was
  first_micros bigint
*/
select leader, isr, gap, log_start, record, coordinator, members, transaction,
  count(*) as events, array_sort(collect_set(group)) as groups,
  count(distinct struct(group, topic, partition)) as pairs, min(at_micros) as first_micros
from protocol_states
group by all
