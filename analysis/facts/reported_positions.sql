/*
about: |
  Positions that members reported, with their deliveries before and next, in that session.

  A session begins with an assignment, a revocation or a failure.
subject: positions
columns:
  change: with which it was reported
  given_before: the last offset of the delivery before; null if there is none
  given_next: the first offset of the next one; null if there is none
  next_last: its last offset
  following: the first offset of the delivery after that
  is_reset_before: whether the position was reset since the delivery before, or a guest's may have
    been
  is_reset_after: likewise until the next one
*/
with delivered as (
  select group, member, topic, partition, seq, at_micros,
    min(first_offset) as first_offset, max(last_offset) as last_offset
  from deliveries
  group by all
),
followed as (
  select *, lead(first_offset) over (
      partition by group, member, topic, partition order by seq) as following
  from delivered
),
events as (
  select group, member, topic, partition, seq, at_micros, null as change, null as position,
    0 as begins, struct(at_micros, first_offset, last_offset, following) as delivery
  from followed
  union all
  select group, member, topic, partition, seq, at_micros, change,
    if(change in ('assigned', 'caught_up'), position, null),
    if(change in ('opened', 'assigned', 'revoked', 'failed'), 1, 0), null
  from group_events
),
in_sessions as (
  select *, sum(begins) over (
      partition by group, member, topic, partition order by seq) as session
  from events
),
compared as (
  select *, last_value(delivery) ignore nulls over in_order as earlier,
    last_value(delivery) ignore nulls over backwards as later
  from in_sessions
  window in_order as (partition by group, member, topic, partition, session order by seq),
    backwards as (partition by group, member, topic, partition, session order by seq desc)
),
resets_of as (
  select member, topic, partition, collect_list(at_micros) as resets
  from client_resets
  group by all
)
select group, member, topic, partition, change, position, at_micros,
  earlier.last_offset as given_before, later.first_offset as given_next,
  later.last_offset as next_last, later.following as following,
  coalesce(exists(resets, one -> one
    between earlier.at_micros - :clock_micros and at_micros + :clock_micros), false)
    or hidden_reset is not null
    as is_reset_before,
  coalesce(exists(resets, one -> one
    between at_micros - :clock_micros and later.at_micros + :clock_micros), false)
    or hidden_reset is not null
    as is_reset_after
from compared
left join resets_of using (member, topic, partition)
left join (select group, hidden_reset from planned_groups) using (group)
where position is not null
