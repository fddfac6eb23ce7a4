/*
about: |
  Resets with covers_from: from there on, up to to_offset, they led past records.

  That is the position that was reset; or where its branch ended, if a truncation had removed what
  the group read last; but not below what the group had reached on the branch before. An epoch of
  which the surviving branch has nothing parted from it where it started.

  answered: where the first epoch newer than the position's started, which is the end that the
  leader returns; unclean_epochs: those of the unclean elections from the position's epoch on, if
  they are several; exact: `answered`, where the position's epoch was that of what the group had read
  last, and at most one of those elections was unclean, so that no other response is right.
subject: progress
columns:
  to_offset: null where the client raised an exception instead
  cause: truncation, out_of_range, no_commit
  policy: '`auto.offset.reset` of the group'
  is_jump: a seek, or a reset by a policy that leads past records which the log has
*/
{% set reset_key = "group, topic, partition, member, at_micros, to_offset, cause" %}
with led as (
  select {{ reset_key }}, policy, max(from_offset) as from_offset, max(from_epoch) as from_epoch
  from {{ of_present_topic("client_resets", "at_micros") }}
  where to_offset is not null
  group by all
),
read as (
  select group, topic, partition, leader_epoch as read_epoch, last_offset, at_micros as read_micros,
    struct(at_micros, seq, last_place) as read_at
  from {{ of_present_topic("deliveries", "at_micros") }}
),
-- A client may write the line of a reset up to 1 s after it went on.
read_before as (
  select {{ reset_key }}, read_epoch, max(last_offset) as last_offset, max(read_at) as read_at
  from led join read using (group, topic, partition)
  where read_micros <= at_micros - {{ micros_per_second }}
    or (read_micros <= at_micros and last_offset < to_offset)
  group by all
),
left_branches as (
  select *, {{ fork_then("read_epoch", "at_micros + :clock_micros") }} as left_at,
    array_min(transform(filter(timeline, one -> one.leader_epoch = read_epoch and not one.is_kept),
      one -> one.start_high)) as parted_at
  from read_before left join timelines using (topic, partition)
),
forked as (
  select *, if(left_at is null, null, least(left_at, parted_at)) as forked_at from left_branches
),
reached as (
  select {{ reset_key }}, max(least(last_offset + 1, forked_at)) as reached_to,
    max_by(forked_at, read_at) as forked_at, max_by(read_epoch, read_at) as read_epoch
  from forked
  group by all
),
unclean as (
  select topic, partition, collect_list(struct(epoch, at_micros)) as elections
  from elections
  where is_unclean and permits is not null
  group by all
),
known as (
  select *,
    if(from_epoch < 0, null, {{ end_then("from_epoch", "at_micros + :clock_micros") }}) as answered,
    coalesce(reached_to, 0) as reached, array_sort(transform(filter(elections,
      one -> one.epoch >= from_epoch and one.at_micros <= led.at_micros + :clock_micros),
      one -> one.epoch)) as unclean
  from led
  left join reached using ({{ reset_key }})
  left join timelines using (topic, partition)
  left join unclean using (topic, partition)
)
select group, topic, partition, at_micros, to_offset, from_epoch, cause, policy, answered,
  if(from_epoch = read_epoch and coalesce(size(unclean) < 2, true), answered, null) as exact,
  if(from_epoch >= 0 and size(unclean) > 1, to_json(unclean), null) as unclean_epochs,
  greatest(reached, least(coalesce(from_offset, reached), forked_at)) as covers_from,
  cause = 'seek' or (cause in ('out_of_range', 'no_commit')
    and (policy = 'latest' or policy like 'by_duration%')) as is_jump
from known
