/*
about: |
  Times in which a member waited for its next record, which was acknowledged already. The member
  had been without records of the partition for 2 s or more.

  Waits in which the member was asked to stop, or had reached the log ends, are left out. A member
  that loses or pauses the partition meanwhile has two waits: one until then, one from when it has
  the partition again. So has one that waits while other groups read to the log end: the first
  final read ends what all members read by themselves, but for a poll that returns within 2 s, and
  the last one that began is its own. One that commits in between had read on. Where it is recorded
  when a member was polled, only those times count. A guest that shows no assignments, and that went
  on past records that its group was never delivered, waited for the first of them: or it had gone on
  before, which is not shown.
subject: deliveries
optional: [phases, commits]
columns:
  seq: of the poll that ended it
  offset: of the record
  at: micros, when the wait began
  ended: micros, when the record was delivered, or the partition lost or paused
  is_passed: the member went past the record
  answered_micros: when the record was acknowledged
  is_for_all: whether its send waited for the whole ISR
*/
with passed as (
  select p.group, p.member, p.topic, p.partition, p.at_micros as ended, min(p.offset) as offset
  from passed_slices as p
  join surviving_records as r
    on (r.topic, r.partition, r.offset) = (p.topic, p.partition, p.offset)
  left semi join (select group from planned_groups where level != 'positions') as g
    on g.group = p.group
  left semi join sliced_acknowledged as a
    on (a.topic, a.partition, a.offset, a.value) = (r.topic, r.partition, r.offset, r.value)
  left anti join sliced_polls as d
    on (d.group, d.topic, d.partition, d.value) = (p.group, r.topic, r.partition, r.value)
  where not is_within and not is_commit
    and r.leader_epoch >= prev_epoch and (next_epoch < 0 or r.leader_epoch <= next_epoch)
  group by all
),
long as (
  select pauses.* except (offset), coalesce(passed.offset, pauses.offset) as offset,
    passed.offset is not null as is_passed
  from poll_pauses as pauses left join passed using (group, member, topic, partition, ended)
  where ended - since >= {{ 2 * micros_per_second }}
),
stops as (
  select member, seq as stopped
  from group_events
  where change in ('caught_up', 'stalled', 'closed')
),
halted as (
  select distinct member, seq
  from long join stops using (member)
  where stopped between seq_before and seq
),
final_reads as (
  select began_micros from phases where stage = 'final read'
),
reads_of_others as (
  select member, topic, partition, seq, greatest(max(since), min(began_micros)) as lost_micros,
    max(began_micros) as back_micros
  from long join final_reads
    on began_micros between since - {{ 2 * micros_per_second }} and ended
  group by all
  having max(began_micros) >= max(since)
),
read_on as (
  select distinct r.member, r.seq
  from reads_of_others as r join commits as c on c.member = r.member
  where coalesce(c.began_micros, committed_micros)
    between lost_micros + {{ 2 * micros_per_second }} and back_micros
),
changes as (
  select member, topic, partition, seq, at_micros, change in ('assigned', 'resumed') as is_back
  from group_events
  where change in ('revoked', 'lost', 'paused', 'assigned', 'resumed')
),
held as (
  select p.*, least(min(at_micros) filter (where not is_back), max(r.lost_micros)) as lost_micros,
    greatest(max(at_micros) filter (where is_back), max(r.back_micros)) as back_micros
  from long as p
  left anti join halted on halted.member = p.member and halted.seq = p.seq
  left join changes as e
    on e.member = p.member and e.topic = p.topic and e.partition = p.partition
      and e.seq between p.seq_before and p.seq
  left join (select * from reads_of_others left anti join read_on using (member, seq)) as r
    on (r.member, r.topic, r.partition, r.seq) = (p.member, p.topic, p.partition, p.seq)
  group by all
),
owned as (
  select group, member, topic, partition, seq, offset, is_passed, since,
    coalesce(lost_micros, ended) as ended
  from held
  union all
  select group, member, topic, partition, seq, offset, is_passed, coalesce(back_micros, ended),
    ended
  from held
  where lost_micros is not null
),
polled as (
  select o.group, o.member, topic, partition, seq, offset, is_passed,
    greatest(o.since, p.since) as since, least(ended, p.until) as ended
  from owned as o join polled_times as p
    on (p.group, p.member) = (o.group, o.member) and p.since < ended and p.until > o.since
  union all
  select * from owned left anti join polled_times using (group, member)
)
select group, member, topic, partition, seq, offset, is_passed,
  greatest(since, answered_micros) as at, ended, answered_micros, {{ is_for_all }} as is_for_all
from polled join sliced_acknowledged using (topic, partition, offset)
where greatest(since, answered_micros) < ended
