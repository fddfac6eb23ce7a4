/*
id: D2
definition: The record before the committed offset is in the log, and the group had not been
  delivered it.
explanation: A first commit at the position where the group started without a commit goes past
  nothing. Records of transactions are left out if the group reads committed values.
permitted: the group's client, which is not Java's, commits by itself, and the member that was
  polled then was delivered the record afterwards, without a pause of more than 5 s between its
  polls. Such a commit can be stored while the poll that delivers the record returns.
undecided: no client of the run reports the commit. The group's client commits by itself, and the
  record was delivered later in another way. Or its member's worker was killed, perhaps in such a
  poll, and the client is not Java's;
  so with commits of librdkafka whose response is not awaited.
evaluates: every commit whose previous record is known, and is no control record.
source: >-
  `KafkaConsumer.commitSync`: the committed offset is that of the next record to be consumed;
  librdkafka, CONFIGURATION.md: `enable.auto.offset.store`.
needs: [committed_offsets]
optional: [polled_times]
evaluated: select count(*) as evaluated from known
cases:
- permitted: reset
  when: reset_cause is not null
  cause: a reset ({reset_cause}) moved the position there
- violation: of another topic
  when: is_of_former
  cause: record {offset - 1} (epoch {logged_epoch}) {delivery}, but record {offset - 1} of the topic
    that had this name before
- undecided: not reported
  when: is_unreported
  cause: record {offset - 1} (epoch {logged_epoch}) {delivery}; no client of the run reports the
    commit
- undecided: delivering
  when: is_by_client and delivered_micros is not null
  cause: record {offset - 1} was delivered to the group {seconds:.1f} s after its client
    committed by itself
  permitted_if: is_under_way
- undecided: interrupted
  when: interrupted is not null
  cause: 'record {offset - 1} is in no poll of {interrupted}, whose worker was killed; its client
    may have committed in a poll that was interrupted'
- permitted: truncated
  when: replaced_by is not null and permit is not null
  cause: record {offset - 1} was not delivered to the group; the log has another one there since,
    of epoch {replaced_by}; {permit.words}
- undecided: truncated
  when: replaced_by is not null
  cause: record {offset - 1} was not delivered to the group; the log has another one there since,
    of epoch {replaced_by}
- violation: unread
  cause: record {offset - 1} (epoch {logged_epoch}) {delivery}
evidence: committed_epoch, logged_epoch, previous_offset, reset_cause, permit, interrupted
place:
  offset_first: offset
  offset_last: offset
  at: committed_micros
*/
with known as (
  select * from stored_commits
  where coalesce(record_epoch, replaced_by) is not null and not is_after_control
),
beyond as (
  select * from known
  where polled_micros is null and (previous_offset is null or previous_offset != offset)
),
points as (
  select {{ commit_key }}, offset - 1 as offset, committed_micros from beyond
),
transactional as (
  select value from sliced_sends where transaction is not null
),
hidden as (
  select {{ commit_key }}
  from points
  left semi join committed_readers using (group)
  join surviving_records using (topic, partition, offset)
  left semi join transactional using (value)
),
delivered as (
  select {{ commit_key }}, min(polled_micros) as delivered_micros,
    min_by(member, polled_micros) as delivered_to
  from points join sliced_polls using (group, topic, partition, offset)
  where polled_micros > committed_micros
  group by all
),
under_way as (
  select distinct {{ commit_key }}, true as is_under_way
  from delivered as d
  join points using ({{ commit_key }})
  join polled_times as p on (p.group, p.member) = (d.group, delivered_to)
    and since <= committed_micros and until >= delivered_micros
  left anti join (select group from planned_groups where client like 'java%') as j
    on j.group = d.group
),
killed as (
  select {{ commit_key }}, max(member) as interrupted from interrupted_commits group by all
),
judged as (
  select c.*, u.stored_offset is not null as is_unreported, timeline, delivered_micros,
    is_by_client, interrupted, coalesce(is_under_way, false) as is_under_way,
    (delivered_micros - committed_micros) / {{ micros_per_second }} as seconds
  from {{ with_reset_to("beyond") }} as c
  left anti join hidden using ({{ commit_key }})
  left join delivered using ({{ commit_key }})
  left join under_way using ({{ commit_key }})
  left join killed using ({{ commit_key }})
  left join unreported_commits as u using ({{ commit_key }})
  left join timelines using (topic, partition)
  left join planned_groups using (group)
  where previous_offset is not null or not reset_cause <=> 'no_commit'
)
select *, if(delivered_micros is null, 'was never delivered to the group', format_string(
    'was delivered to the group %.1f s after the commit only', seconds)) as delivery
from {{ with_permit_since("judged", "offset - 1") }}
