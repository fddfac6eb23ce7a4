/*
about: The runs that do not begin where the one before ended.
subject: sessions
like: session_runs
columns:
  is_anew: whether reading started over in between
  reset_to: where a reset put the position; null without one
  is_commit: whether the member went on, from one poll to the next, at what was the group's last
    commit at some time since the run before, as after a rebalance that is over within one poll
*/
with jumped as (
  select * from session_runs where first_offset != prev_offset + 1
),
beginnings as (
  select member, topic, partition, seq
  from group_events
  where change in ('assigned', 'revoked', 'failed', 'opened')
),
begun as (
  select j.*, count(b.seq) > 0 as is_anew, max(to_offset) as reset_to
  from jumped as j
  left join beginnings as b on b.member = j.member and b.seq > prev_seq and b.seq < j.seq
    and (b.partition < 0 or (b.topic, b.partition) = (j.topic, j.partition))
  -- A line of a client's log has its time in milliseconds, and may come 1 s after the client went on.
  left join client_resets as r
    on (r.member, r.topic, r.partition) = (j.member, j.topic, j.partition)
    and r.at_micros between prev_micros - 1000 and j.at_micros + {{ micros_per_second }}
    and to_offset <= first_offset
  group by all
),
stored as (
  select group, topic, partition, offset as first_offset, committed_micros,
    lead(committed_micros) over (
      partition by group, topic, partition order by committed_micros, offsets_offset)
      as replaced_micros
  from client_offsets
  where {{ is_stored }}
)
select begun.*, coalesce(max(seq != prev_seq and committed_micros <= at_micros + :clock_micros
    and coalesce(replaced_micros >= prev_micros - :clock_micros, true)), false) as is_commit
from begun left join stored using (group, topic, partition, first_offset)
group by all
