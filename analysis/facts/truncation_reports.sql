/*
about: |
  Truncations as clients reported them, by a reset or an exception.

  Exceptions only where no line of the client's log reports a reset. Clients raise where they have
  no policy to reset by.
subject: resets
columns:
  member: '`group#incarnation`: `orders#2` is the second one of its group'
  policy: '`auto.offset.reset` of the group; none of an exception'
  from_offset: the position
  from_epoch: of the position, -1 if no source has one
  to_offset: null where the client raised an exception without an offset
  is_raised: by an exception
  forked_at: where the log had left the position's epoch; null if it had not, or if that epoch is
    not known
*/
with failed as (
  select *
  from {{ of_present_topic("group_events", "at_micros") }}
  where change = 'failed' and position is not null and exception rlike '(?i)log_?truncation'
),
reset as (
  select group, topic, partition, member, from_offset, policy, from_epoch, to_offset, at_micros
  from {{ of_present_topic("client_resets", "at_micros") }}
  where cause = 'truncation' and from_offset is not null
),
raised as (
  select group, topic, partition, member, position as from_offset, 'none' as policy,
    known_epoch as from_epoch, divergent_offset as to_offset, at_micros
  from {{ with_position_epochs("failed") }}
),
-- USING puts its columns first, so they are first in both.
reported as (
  select *, false as is_raised from reset
  union all
  select *, true
  from raised left anti join reset using (group, topic, partition, member, from_offset)
)
select * except (timeline),
  if(from_epoch < 0, null, {{ fork_then("from_epoch", "at_micros + :clock_micros") }}) as forked_at
from reported join timelines using (topic, partition)
