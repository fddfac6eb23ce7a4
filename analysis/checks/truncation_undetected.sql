/*
id: F2
definition: A group read records that were truncated, read on in a later epoch and never noticed.
explanation: The group went on above the first of these records, so that it never got the records
  in their place. Each truncation needs a notice of its own, between the first of these records and
  the delivery with which the group went on. Records below the log start were truncated if a newer
  epoch started at or below them, else deleted. Corrupted values are left out.
permitted: >-
  the group's clients show no epochs;
  the group commits no epoch, and another member, or the same one after it was opened or assigned
  again, went on from a commit; or the end that the leader returned for the epoch was not below the
  position: its log lacked the epoch, and had an older one there.
undecided: a guest's policy is `latest`, so that a reset may have led it on unseen.
evaluates: every delivery.
source: >-
  KIP-320; `OffsetAndMetadata(long)`: no client can validate a commit without an epoch
  (KAFKA-20507).
needs: [polls, group_events, log_starts]
evaluated: select coalesce(sum(records), 0) as evaluated from deliveries
exercised: truncated_readers
tree: true
passed_epoch: reached_epoch
cases:
- permitted: silent
  when: returned > offset_last
  cause: >-
    {records} records of epoch {gone_epoch} were read and then truncated; the leader of epoch
    {reached_epoch} returned {returned} for their epoch, which is not below the position, so that
    no client could notice that compares the two (KIP-320)
- violation: silent
  cause: >-
    {records} records of epoch {gone_epoch} were read and then truncated; the group continued in
    epoch {reached_epoch} without an error
  permitted_if: commit_epoch = 'none' and is_resumed or is_without_epochs
  undecided_if: hidden_reset = 'latest'
evidence: records, gone_epoch, reached_epoch, went_on_at, commit_epoch
*/
with gone as (
  select *
  from {{ of_present_topic("sliced_polls", "polled_micros - :clock_micros") }}
  left anti join surviving_records using (topic, partition, value)
  where is_intact
),
-- A value counts once, however often it was delivered.
truncated as (
  select group, topic, partition, leader_epoch as gone_epoch, value, records, min(offset) as first,
    max(last_offset) as last, min(polled_micros) as first_micros, max(polled_micros) as last_micros,
    max_by(member, polled_micros) as gone_member
  from gone
  left join log_bounds using (topic, partition)
  left join timelines using (topic, partition)
  where log_start is null or offset >= log_start
    or {{ is_overwritten("leader_epoch", "offset + 1", forever) }}
  group by all
),
branches as (
  select group, topic, partition, gone_epoch, min(first) as offset_first, max(last) as offset_last,
    sum(records) as records, min(first_micros) as first_micros, max(last_micros) as at,
    max_by(gone_member, last_micros) as gone_member
  from truncated
  group by all
),
followed as (
  select b.*, min_by(struct(d.member, d.leader_epoch, d.first_offset, d.at_micros),
      struct(d.at_micros, d.seq, d.first_place)) as next
  from branches as b join deliveries as d using (group, topic, partition)
  where d.leader_epoch > gone_epoch and d.at_micros >= first_micros
  group by all
),
went_on as (
  select *, next.leader_epoch as reached_epoch, next.first_offset as went_on_at,
    next.at_micros as until_micros, next.member as next_member
  from followed
  where next.first_offset > offset_first
),
begun as (
  select group, at_micros as begun_micros
  from group_events
  where change in ('assigned', 'opened')
),
begun_again as (
  select went_on.*, coalesce(max(begun_micros > at and begun_micros <= until_micros), false)
    as is_again
  from went_on left join begun using (group)
  group by all
)
select *, next_member != gone_member or is_again as is_resumed,
  {{ end_then("gone_epoch", "until_micros + :clock_micros") }} as returned
from {{ unnoticed("begun_again", "first_micros", "until_micros") }}
left join planned_groups using (group)
left join groups_without_epochs using (group)
left join timelines using (topic, partition)
