/*
about: |
  Commits whose offset a client chose, beyond the last poll in the history of its member, whose
  worker was killed.

  A poll that the kill interrupted may have returned the records without a line. Only of kafka-python
  and librdkafka, which also takes the offsets of an asynchronous commit when it sends it: Java's
  client commits no record of a poll before the next one (`KafkaConsumer`, Automatic Offset
  Committing; KAFKA-18641).
subject: commits
optional: [histories]
columns:
  offsets_partition: of `__consumer_offsets`
  offsets_offset: in that partition
  member: that was killed
  read_to: the offset after the last record that it was delivered
*/
with killed as (
  select worker from histories where not ended_by_itself
),
lines as (
  select worker, group, member, at_micros from group_events
  union all
  select worker, group, member, at_micros from deliveries
),
last_lines as (
  select group, member, max(at_micros) as last_micros
  from lines left semi join killed using (worker)
  group by all
),
delivered as (
  select group, topic, partition, member, max_by(last_offset, struct(seq, last_place)) + 1 as at
  from deliveries
  group by all
),
owned as (
  select *, lead(from_micros) over (
      partition by group, topic, partition order by from_micros) as next_micros
  from reported_assignments
),
ended as (
  select group, topic, partition, member, last_micros, next_micros,
    coalesce(at, position) as read_to
  from owned
  join last_lines using (group, member)
  left join delivered using (group, topic, partition, member)
  where left_micros is null
)
select group, topic, partition, offsets_partition, offsets_offset, offset, member, read_to
from present_offsets
join ended using (group, topic, partition)
join planned_groups using (group)
where (is_by_client and client in ('librdkafka', 'kafka-python')
    or client = 'librdkafka' and manner = 'unawaited')
  and offset > read_to
  and committed_micros + {{ commit_clock_micros }} >= last_micros - :clock_micros
  and committed_micros <= coalesce(next_micros, {{ forever }}) + :clock_micros
