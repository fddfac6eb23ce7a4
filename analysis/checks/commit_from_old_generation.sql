/*
id: D4
definition: A member's commit was stored after another member had been assigned the partition.
explanation: The other member was assigned it under a newer generation (or member epoch), whether
  or not it still held it. If a generation is not known, the other member was assigned it after the
  committer, and had not given it back. Whatever the generations, a member may not commit any more
  (`in turn`) once the commit of a member that was assigned the partition later was acknowledged.
undecided: the other member committed the same offset too, and not before the commit began.
evaluates: acknowledged commits on partitions that several members of the group owned in turn.
source: >-
  KIP-848; `ConsumerGroup.validateOffsetCommit`: the coordinator must answer ILLEGAL_GENERATION,
  UNKNOWN_MEMBER_ID or STALE_MEMBER_EPOCH.
needs: [group_events, commits, committed_offsets]
evaluated: >-
  select count(*) as evaluated
  from answered left semi join shared_partitions using (group, topic, partition)
exercised: commits_of_shared_partitions
cases:
- violation: in turn
  when: is_in_turn
  cause: >-
    {member} committed after {owner}, which was assigned the partition later, had committed
    {owner_offset}
- violation: not the owner
  cause: '{member} committed while {owner} owned the partition'
  undecided_if: committed_by_owner > 0
evidence: member, generation, owner, owned_micros, owner_offset, committed_epoch,
  committed_by_owner
place:
  offset_first: offset
  offset_last: offset
  at: committed_micros
*/
with answered as (
  select group, topic, partition, member, seq, coalesce(generation, -1) as generation, offset,
    committed_epoch, coalesce(began_micros, committed_micros) as began_micros, committed_micros
  from commits
  where outcome = 'ok'
),
-- taken: by the owner's first commit since.
owners as (
  select a.group, a.topic, a.partition, a.member as owner, a.generation as owner_generation,
    from_micros as owned_micros, left_micros as given_micros,
    min(struct(committed_micros as at_micros, offset))
      filter (where committed_micros > from_micros) as taken
  from assignments as a left join answered using (group, topic, partition, member)
  group by all
),
own as (
  select group, topic, partition, member, from_seq, from_micros from assignments
),
of_assignment as (
  select answered.*, max(from_micros) as own_micros
  from answered join own using (group, topic, partition, member)
  where from_seq <= seq
  group by all
),
against_owners as (
  select *,
    coalesce(owned_micros > own_micros + :clock_micros
      and taken.at_micros + :clock_micros < began_micros, false) as is_in_turn,
    if(generation >= 0 and owner_generation >= 0, owner_generation > generation,
      owned_micros > own_micros and coalesce(given_micros > committed_micros, true)) as is_newer
  from of_assignment join owners using (group, topic, partition)
  where owner != member and owned_micros + :clock_micros < committed_micros
),
-- Of a commit and each member that it came after: what is stored may be that member's own.
overtaken as (
  select o.group, o.topic, o.partition, o.member, o.seq, o.generation, o.offset, o.committed_epoch,
    o.began_micros, o.committed_micros, o.is_in_turn, o.owned_micros, o.owner,
    if(o.is_in_turn, o.taken.offset, null) as owner_offset,
    count_if(w.committed_micros > o.owned_micros) as committed_by_owner
  from against_owners as o
  join all_offsets as s on (s.group, s.topic, s.partition, s.offset)
    = (o.group, o.topic, o.partition, o.offset)
  left join answered as w on (w.group, w.topic, w.partition, w.offset, w.member)
    = (o.group, o.topic, o.partition, o.offset, o.owner)
  where (o.is_in_turn or o.is_newer) and s.committed_micros > o.owned_micros + :clock_micros
    and s.committed_micros <= o.committed_micros + :clock_micros
  group by all
)
select group, topic, partition, member, seq, generation, offset, committed_epoch, began_micros,
  committed_micros, last.is_in_turn, last.owned_micros, last.owner, last.owner_offset,
  committed_by_owner
from (
  select group, topic, partition, member, seq, generation, offset, committed_epoch, began_micros,
    committed_micros, max(struct(is_in_turn, owned_micros, owner, owner_offset)) as last,
    sum(committed_by_owner) as committed_by_owner
  from overtaken
  group by all)
