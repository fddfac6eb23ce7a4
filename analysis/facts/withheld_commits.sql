/*
about: |
  Commits that stored nothing, though their member was delivered records since the last one; and
  positions that a client logged it left out, of commits that it makes by itself. Of a client that
  does not show what it committed, one that it reports as done counts as well, where the log of the
  coordinator has none of the time.

  Left out are those at a position that was stored, and reported ones after a reset, whose position
  is another.
subject: positions
optional: [omitted_commits]
columns:
  worker: that had the member
  manner: of the commit; empty where not known
  position: after what it was delivered last
  record_epoch: of the last record
  stored_offset: of the group then; null without a commit
  is_by_client: whether the client makes the commits by itself
  is_reported: the client reported the commit as done
  log_line: in which the client says that it left the position out; null without one
*/
with reported as (
  select worker, group, topic, partition, member, seq, commit_epoch,
    coalesce(manner, '') as manner, committed_micros, began_micros, offset, outcome
  from commits
  where outcome in ('nothing', 'ok')
),
-- The offsets partition of the group is there, or nothing would be known.
not_stored as (
  select r.*
  from reported as r
  left semi join places_of_groups using (group)
  left anti join client_offsets as o
    on (o.group, o.topic, o.partition) = (r.group, r.topic, r.partition)
      and o.committed_micros between coalesce(began_micros, r.committed_micros) - :skew_micros
        and r.committed_micros + :skew_micros
  where outcome = 'ok' and offset is null
),
asked as (
  select worker, group, topic, partition, member, seq, commit_epoch, manner,
    committed_micros as at_micros, outcome = 'ok' as is_reported
  from (
    select * from reported where outcome = 'nothing'
    union all
    select * from not_stored)
),
settled as (
  select group, topic, partition, member, seq as settled_seq
  from reported left anti join not_stored using (group, topic, partition, member, seq)
  where outcome = 'ok'
  union all
  select group, topic, partition, member, seq
  from group_events
  where change in ('assigned', 'revoked', 'lost')
),
delivered as (
  select group, topic, partition, member, struct(seq, last_place) as place,
    struct(last_offset + 1 as position, leader_epoch, at_micros, seq) as delivery
  from deliveries
),
moved as (
  select asked.*, max_by(delivery, place) as last
  from asked join delivered using (group, topic, partition, member)
  where place.seq < asked.seq
  group by all
),
last_settled as (
  select moved.*, max(settled_seq) as settled_seq
  from moved left join settled using (group, topic, partition, member)
  where coalesce(settled_seq < seq, true)
  group by all
),
unsettled as (
  select * except (settled_seq) from last_settled where coalesce(settled_seq < last.seq, true)
),
reset as (
  select distinct group, topic, partition, member, seq
  from unsettled join client_resets as r using (group, topic, partition, member)
  where r.at_micros between last.at_micros and unsettled.at_micros
),
stored as (
  select group, topic, partition, committed_micros, {{ in_log }} as in_log,
    struct(offset, committed_epoch) as stored
  from client_offsets
  where {{ is_stored }}
),
known as (
  select unsettled.*,
    max_by(stored, in_log) filter (where committed_micros <= at_micros + :skew_micros) as stored
  from unsettled
  left anti join reset using (group, topic, partition, member, seq)
  left join stored using (group, topic, partition)
  group by all
),
omitted as (
  select worker, group, topic, partition, member, offset as position, epoch, committed_offset,
    committed_epoch, min(at_micros) as at_micros, min_by(log_line, at_micros) as log_line
  from omitted_commits
  where offset != committed_offset
  group by all
),
lines as (
  select group, topic, partition, member, position, min_by(log_line, at_micros) as log_line
  from omitted
  group by all
)
select k.group, k.topic, k.partition, k.member, worker, commit_epoch, manner, at_micros,
  last.position as position,
  last.leader_epoch as record_epoch, stored.offset as stored_offset,
  stored.committed_epoch as stored_epoch, false as is_by_client, is_reported, log_line
from known as k left join lines as l on (l.group, l.topic, l.partition, l.member, l.position)
  = (k.group, k.topic, k.partition, k.member, last.position)
where not stored.offset <=> last.position
union all
select group, topic, partition, member, worker, commit_epoch, '', at_micros, position, epoch,
  committed_offset, committed_epoch, true, false, log_line
from omitted join planned_groups using (group)
where is_by_client
