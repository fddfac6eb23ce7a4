/*
id: G10
definition: A replica's leader-epoch-checkpoint differs from the epochs of its batches.
explanation: The batches of an epoch lie between its entry and the next. The first entry moves up
  with the log start; if records may be deleted, only later ones bound batches from below.
permitted: >-
  an entry beyond the end of the log: after a truncation the file is written in the background
  (KAFKA-15046), and corrected when it is loaded.
evaluates: every epoch of each replica at or above the log start.
source: '`LeaderEpochFileCache`; `LogLoader`.'
needs: [replica_batches, log_starts, epoch_checkpoints]
evaluated: select count(*) as evaluated from judged
tree: true
cases:
- violation: no entry
  cause: >-
    leader-epoch-checkpoint of broker {broker}, epoch {leader_epoch} with offsets {base_offset} to
    {last_offset}: {kind}
- violation: begins before its entry
  cause: >-
    leader-epoch-checkpoint of broker {broker}, epoch {leader_epoch} with offsets {base_offset} to
    {last_offset}: {kind} (entry at {reported})
- violation: ends after the next entry
  cause: >-
    leader-epoch-checkpoint of broker {broker}, epoch {leader_epoch} with offsets {base_offset} to
    {last_offset}: {kind} (entry at {reported})
- permitted: beyond the end
  cause: >-
    leader-epoch-checkpoint of broker {broker}, epoch {leader_epoch} with offsets {base_offset} to
    {last_offset}: {kind} (entry at {reported})
evidence: broker, leader_epoch, reported
*/
with reported as (
  select topic, partition, max(log_start_offset) as reported_start from samples group by all
),
bounds as (
  select broker, topic, partition, log_end_offset,
    greatest(log_start_offset, reported_start) as log_start
  from log_starts left join reported using (topic, partition)
),
judged as (
  select b.broker, b.topic, b.partition, b.leader_epoch, b.base_offset, b.last_offset, log_start,
    coalesce(t.deletes, false) or t.retention_ms is not null as deletes,
    min(e.leader_epoch) as first_epoch,
    min(e.start_offset) filter (where e.leader_epoch = b.leader_epoch) as entry,
    min(e.start_offset) filter (where e.leader_epoch > b.leader_epoch) as next_entry
  from epoch_ranges as b
  left join bounds using (broker, topic, partition)
  left join epoch_checkpoints as e
    on (e.broker, e.topic, e.partition) = (b.broker, b.topic, b.partition)
  left join planned_topics as t on t.topic = b.topic
  where b.leader_epoch >= 0 and (log_start is null or b.last_offset >= log_start)
  group by all
),
differing as (
  select *, entry as reported, case
      when entry is null then if(deletes and leader_epoch < first_epoch, null, 'no entry')
      when entry > greatest(base_offset, log_start) and not (deletes and leader_epoch = first_epoch)
        then 'begins before its entry'
      when next_entry <= last_offset then 'ends after the next entry'
    end as kind
  from judged
),
findings as (
  select broker, topic, partition, leader_epoch, base_offset, last_offset, reported, kind
  from differing
  where kind is not null
  union all
  select broker, topic, partition, leader_epoch, start_offset, start_offset, start_offset,
    'beyond the end'
  from epoch_checkpoints join bounds using (broker, topic, partition)
  where start_offset > log_end_offset
)
select *, base_offset as offset_first, last_offset as offset_last from findings
