/*
id: C2
definition: Two committed transactions depend on each other, at least one by reading (Adya's G1c).
explanation: Or a transaction read its own write. A transaction reads what lies between the
  offsets that its group had committed before and those that it commits itself.
permitted: a member of one of the groups reads uncommitted values; or one of both dependencies is
  a write.
evaluates: pairs of a transaction that wrote and one that read it.
source: '`isolation.level`; KIP-98; Adya, Generalized Isolation Level Definitions.'
needs: [transactions, sends, committed_offsets]
evaluated: select count(*) as evaluated from reads
cases:
- permitted: read, then written before
  cause: >-
    transaction {second.transaction} of {second.producer} read a write of transaction
    {first.transaction} of {first.producer}: {kind}
- violation: read each other
  cause: >-
    transaction {second.transaction} of {second.producer} read a write of transaction
    {first.transaction} of {first.producer}: {kind}
  permitted_if: is_uncommitted
- violation: read itself
  cause: >-
    transaction {second.transaction} of {second.producer} read a write of transaction
    {first.transaction} of {first.producer}: {kind}
  permitted_if: is_uncommitted
evidence: first, second
place:
  offset_first: offset
*/
with read_ends as (
  select group, topic, partition, offset - 1 as offset, struct(producer, transaction) as reader
  from offset_commits
  where marker = 'commit'
),
readers as (
  select distinct group, topic, partition from read_ends
),
in_log as (
  select group, topic, partition, offset, writer, null as reader
  from committed_writes join readers using (topic, partition)
  union all
  select group, topic, partition, offset, null, reader from read_ends
),
-- The next end of a read behind a write is the last one when offsets are gone through backwards.
passed as (
  select *, last_value(reader) ignore nulls over (
      partition by group, topic, partition order by offset desc, reader is not null desc, reader)
    as next_reader
  from in_log
),
read as (
  select writer as first, next_reader as second, group,
    min(struct(topic, partition, offset)) as place
  from passed
  where writer is not null and next_reader is not null
  group by all
),
isolations as (
  select group, max(isolation) as isolation from planned_members group by all
),
reads as (
  select first, second, group, place.topic as topic, place.partition as partition,
    place.offset as offset, isolation
  from read join isolations using (group)
)
select one.*, if(one.first = one.second, 'read itself', 'read each other') as kind,
  greatest(one.isolation, back.isolation) != 'read_committed' as is_uncommitted
from reads as one join reads as back on back.first = one.second and back.second = one.first
where one.first <= one.second
union all
select *, 'read, then written before', isolation != 'read_committed'
from reads left semi join write_edges as w on w.first = reads.second and w.second = reads.first
