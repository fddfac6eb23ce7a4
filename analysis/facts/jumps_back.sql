/*
about: Rows of `jumps` that go back although reading did not start over.
subject: sessions
like: session_jumps
columns:
  is_commit: whether it was the group's last commit at some time since the run before
  is_permitted: it had, and the member went back there from one poll to the next, which a
    rebalance does that is over within one poll
*/
with back as (
  select * from session_jumps
  where not is_anew and reset_to is null and first_offset <= prev_offset
),
stored as (
  select group, topic, partition, offset as first_offset, committed_micros,
    lead(committed_micros) over (
      partition by group, topic, partition order by committed_micros, offsets_offset)
      as replaced_micros
  from client_offsets
  where {{ is_stored }}
),
compared as (
  select back.*, coalesce(max(committed_micros <= at_micros + :clock_micros
    and coalesce(replaced_micros >= prev_micros - :clock_micros, true)), false) as is_commit
  from back left join stored using (group, topic, partition, first_offset)
  group by all
)
select *, is_commit and seq != prev_seq as is_permitted from compared
