/*
about: Pairs of assignments of a partition to different members.
subject: assignments
optional: [commits]
columns:
  member: who was assigned it first
  from_micros: when that was noticed
  last_micros: of the last delivery to it; null where nothing was
  generation: of the group, or the member's epoch; -1 where not known
  other: the other member, as what follows
  other_first: of the first delivery
  is_same: whether both were assigned it under one generation, before the first gave it back
  is_older: whether their generations are known, and differ
  is_overlapping: whether the first was delivered records after the other's first
  is_replaced: whether the other has its group.instance.id, with the classic protocol
  learned_micros: when it had a response to a request that it sent since; null if it had none, or
    if it was not replaced
*/
with assigned as (
  select a.*, coalesce(is_static, false) as is_static,
    coalesce(is_static and client != 'java-consumer', false) as is_classic,
    if(has_one_instance, '', regexp_extract(member, '[.]([0-9]+)$', 1)) as number
  from assignments as a left join planned_groups using (group)
),
-- `other` came later; is_successor: it has the group.instance.id of `member`.
successions as (
  select a.*, b.member as other, b.generation as other_generation, b.from_micros as other_from,
    b.first_micros as other_first, b.last_micros as other_last,
    a.is_static and a.number = b.number as is_successor,
    a.is_classic and a.number = b.number as is_replaced
  from assigned as a
  join assigned as b on (b.group, b.topic, b.partition) = (a.group, a.topic, a.partition)
  where a.member != b.member and (a.from_micros, a.member) < (b.from_micros, b.member)
),
responses as (
  select group, member, began_micros as asked_micros,
    committed_micros + if(outcome = 'failed', {{ micros_per_second }}, 0) as answered_micros
  from commits
  where outcome != 'nothing'
  union all
  select group, member, at_micros, at_micros
  from group_events
  where change in ('failed', 'revoked', 'lost')
),
learned as (
  select group, topic, partition, member, from_seq, other, other_from,
    min(answered_micros) as learned_micros
  from successions join responses using (group, member)
  where is_replaced and asked_micros > other_from + :clock_micros
  group by all
),
-- is_succeeded: it got nothing since, or only what it had before it could know: a client
-- may deliver in one thread for 1 s after another one was refused.
succeeded as (
  select *, is_successor and (coalesce(last_micros <= other_from, true)
      or is_replaced and last_micros <= coalesce(learned_micros,
        other_from + {{ 3 * micros_per_second }})) as is_succeeded
  from successions
  left join learned using (group, topic, partition, member, from_seq, other, other_from)
),
compared as (
  select *,
    generation >= 0 and generation = other_generation and coalesce(left_micros > other_from, true)
      and not is_succeeded as is_same,
    least(generation, other_generation) >= 0 and generation != other_generation as is_older,
    coalesce(other_first <= last_micros, false) and not (is_replaced and is_succeeded)
      as is_overlapping
  from succeeded
)
select group, topic, partition, member, from_micros, last_micros, generation, other, other_from,
  other_first, other_last, other_generation, is_same, is_older, is_overlapping, is_replaced,
  learned_micros
from compared
where is_same or first_micros is not null and other_first is not null
