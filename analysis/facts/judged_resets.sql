/*
about: |
  Resets of the present topics, without those for want of a commit where none stood.

  The application's seeks are none.
subject: resets
kept: false
like: client_resets
*/
with present as (
  select * from {{ of_present_topic("client_resets", "at_micros") }} where cause != 'seek'
),
stood as (
  select group, topic, partition, member, at_micros,
    max_by(is_tombstone, {{ in_log }}) as was_deleted
  from present join present_offsets using (group, topic, partition)
  where cause = 'no_commit' and committed_micros <= at_micros and (is_tombstone or {{ is_stored }})
  group by all
)
select * except (was_deleted)
from present left join stood using (group, topic, partition, member, at_micros)
where cause != 'no_commit' or not coalesce(was_deleted, true)
