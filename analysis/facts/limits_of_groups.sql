/*
about: |
  How long a group waits for a member that is gone, or does not rejoin: as its coordinator stored
  it, else as it is planned.
subject: sessions
columns:
  session_micros: the session timeout, the longest of its members, or Kafka's default
  poll_micros: 'the rebalance timeout, which is `max.poll.interval.ms` of most clients: likewise'
  is_session_known: 'false: of a guest whose settings do not name it'
  is_poll_known: the same
  is_for_all: 'its clients leave it by themselves once they are not polled for so long. Of a guest
    that is not known: its coordinator waits so long from when a rebalance begins'
  is_static: a member of it has a group.instance.id
*/
with stored as (
  select group, max(nullif(session_ms, 0)) as stored_session_ms,
    max(nullif(rebalance_ms, 0)) as rebalance_ms, max(instance_id is not null) as has_instances
  from member_metadata
  group by all
)
select group, is_classic,
  coalesce(stored_session_ms, session_ms, 45000) * {{ micros_per_second }} / 1000
    as session_micros,
  coalesce(rebalance_ms, poll_interval_ms, 300000) * {{ micros_per_second }} / 1000
    as poll_micros,
  coalesce(stored_session_ms, session_ms) is not null as is_session_known,
  coalesce(rebalance_ms, poll_interval_ms) is not null as is_poll_known,
  poll_interval_ms is not null or rebalance_ms is null as is_for_all,
  is_static or coalesce(has_instances, false) as is_static
from planned_groups left join stored using (group)
