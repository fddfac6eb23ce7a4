/*
id: E1
definition: Of two deliveries in a row, the second has the higher offset and the lower epoch.
explanation: So the group was served from two branches of the log.
permitted: >-
  by an election in between that permits the loss of the first one, whose leader's log lacked its
  epoch. The end that it returned for this epoch was not below the position, so that no client
  that compares the two, as KIP-320 has it, could notice.
undecided: two members were delivered the records, no more than the clock bound apart; or such an
  election is not known.
evaluates: every delivery.
source: 'KIP-101, KIP-320: epochs never fall along a log.'
needs: [polls]
evaluated: select coalesce(sum(records), 0) as evaluated from deliveries
exercised: leader_changes
cases:
- permitted: '{kind}'
  when: is_unseen and permit is not null
  cause: offset {previous_offset} of epoch {previous_leader_epoch} was followed by offset
    {offset} of the older epoch {leader_epoch}; {permit.words}
- violation: within a session
  cause: offset {previous_offset} of epoch {previous_leader_epoch} was followed by offset
    {offset} of the older epoch {leader_epoch}
  undecided_if: is_unseen and is_unreported
- violation: across members
  cause: offset {previous_offset} of epoch {previous_leader_epoch} was followed by offset
    {offset} of the older epoch {leader_epoch}
  undecided_if: is_close or is_unseen and is_unreported
evidence: member, leader_epoch, previous_member, previous_offset, previous_leader_epoch, permit
place:
  offset_first: previous_offset
  offset_last: offset
  at: at_micros
*/
with read as (
  select * from {{ of_present_topic("branch_reads", "first_micros") }}
),
suspects as (
  select distinct group, topic, partition
  from read join read as older using (group, topic, partition)
  where older.epoch < read.epoch and older.offset_max > read.offset_min
),
ranges as (
  select group, topic, partition, member, seq, polled_micros as at_micros, leader_epoch,
    first_offset, last_offset, first_place
  from polls
),
in_turn as (
  select *,
    lag(struct(member, last_offset, leader_epoch, at_micros)) over (
      partition by group, topic, partition order by at_micros, seq, first_place) as of_group,
    lag(struct(member, last_offset, leader_epoch, at_micros)) over (
      partition by group, topic, partition, member order by seq, first_place) as of_member
  from {{ of_present_topic("ranges", "at_micros") }}
  left semi join suspects using (group, topic, partition)
  where leader_epoch >= 0
),
pairs as (
  select * except (of_group, of_member), of_member as previous, 'within a session' as kind
  from in_turn
  union all
  select * except (of_group, of_member), of_group, 'across members'
  from in_turn
  where of_group.member != member
),
fallen as (
  select group, topic, partition, member, leader_epoch, first_offset as offset, at_micros, kind,
    previous.member as previous_member, previous.last_offset as previous_offset,
    previous.leader_epoch as previous_leader_epoch, at_micros + :clock_micros as until,
    at_micros - previous.at_micros <= :clock_micros as is_close
  from pairs
  where first_offset > previous.last_offset and leader_epoch < previous.leader_epoch
),
known as (
  select *, {{ led_then("until") }} as led_by_then,
    coalesce({{ end_then("previous_leader_epoch", "until") }} > previous_offset, false) as is_unseen
  from fallen left join timelines using (topic, partition)
)
select * from {{ with_permit("known", "previous_leader_epoch", "led_by_then", "previous_offset") }}
