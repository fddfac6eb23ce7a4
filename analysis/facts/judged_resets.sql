/*
about: |
  Resets of the present topics, without those for want of a commit where none stood.

  The application's seeks are none.
subject: resets
kept: false
columns: |
  worker string: whose history or log has it
  group string
  member string: `group#incarnation`: `orders#2` is the second one of its group
  topic string
  partition int
  cause string: truncation, out_of_range, no_commit
  policy string: `auto.offset.reset` of the group
  from_offset bigint: null without a commit
  from_epoch int
  to_offset bigint: null where the client raised an exception instead
  to_epoch int
  log_line string: the whole line
  at_micros bigint
*/
with present as (
  select * from {{ of_present_topic("client_resets", "at_micros") }} where cause != 'seek'
),
stood as (
  select group, topic, partition, member, at_micros, max_by(is_tombstone, {{ in_log }}) as was_deleted
  from present join present_offsets using (group, topic, partition)
  where cause = 'no_commit' and committed_micros <= at_micros and (is_tombstone or {{ is_stored }})
  group by all
)
select *
from present left join stood using (group, topic, partition, member, at_micros)
where cause != 'no_commit' or not coalesce(was_deleted, true)
