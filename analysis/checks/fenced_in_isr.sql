/*
id: G7
definition: A partition's ISR has a fenced broker, or a broker joined it during a controlled
  shutdown.
explanation: >-
  The state at the end of each metadata batch counts: the controller fences a broker and removes it
  from the ISRs in one batch. A broker in a controlled shutdown may remain the last member of an
  ISR. Partitions without a leader are left out.
evaluates: every change of a partition with a leader, at the end of its metadata batch.
source: KIP-841.
needs: [leaderships, broker_states]
optional: [metadata_batches]
evaluated: select count(*) as evaluated from changed
exercised: fencings
cases:
- violation: fenced
  cause: broker {broker} is in the ISR of metadata offset {metadata_offset}, although it was fenced
- violation: shutting down
  cause: broker {broker} joined the ISR at metadata offset {metadata_offset} during its
    controlled shutdown
- undecided: unknown broker
  cause: no registration of broker {broker} is known before metadata offset {metadata_offset}
evidence: broker, broker_epoch, isr, leader, leader_epoch, metadata_offset, fenced_micros
place:
  at: at_micros
*/
-- A batch, or what was appended with one timestamp in one piece of a log whose batches are not known.
with moments as (
  select metadata_offset, at_micros from leaderships
  union
  select metadata_offset, at_micros from broker_states
),
in_order as (
  select metadata_offset, at_micros, true as is_moment, null as base_offset, null as last_offset
  from moments
  union all
  select base_offset, null, false, base_offset, last_offset from metadata_batches
),
preceded as (
  select metadata_offset, at_micros, is_moment,
    max(base_offset) over (order by metadata_offset) as base_offset,
    max(last_offset) over (order by metadata_offset) as last_offset
  from in_order
),
placed as (
  select metadata_offset, if(metadata_offset <= last_offset, base_offset, at_micros) as begins
  from preceded
  where is_moment
),
marked as (
  select *, coalesce(begins != lag(begins) over (order by metadata_offset), true) as is_new
  from placed
),
numbered as (
  select *, sum(if(is_new, 1, 0)) over (order by metadata_offset) as batch from marked
),
batches as (
  select metadata_offset, max(metadata_offset) over (partition by batch) as batch_end from numbered
),
ranked_changes as (
  select *, row_number() over (
      partition by topic, partition, batch_end order by metadata_offset desc) as rank
  from leaderships join batches using (metadata_offset)
),
followed as (
  select *, lag(isr) over (partition by topic, partition order by batch_end) as isr_before
  from ranked_changes
  where rank = 1
),
changed as (
  select * from followed where leader >= 0
),
ranked_states as (
  select *, row_number() over (
      partition by broker, batch_end order by metadata_offset desc) as rank
  from broker_states join batches using (metadata_offset)
),
states as (
  select broker, broker_epoch, is_fenced, in_controlled_shutdown, at_micros as fenced_micros,
    batch_end as since_batch,
    lead(batch_end) over (partition by broker order by batch_end) as until_batch
  from ranked_states
  where rank = 1
),
members as (
  select *, explode(isr) as broker from changed
),
judged as (
  select m.*, broker_epoch, fenced_micros, case
      when since_batch is null then 'unknown broker'
      when is_fenced then 'fenced'
      when in_controlled_shutdown and since_batch < batch_end
        and not array_contains(isr_before, m.broker) then 'shutting down'
    end as kind
  from members as m left join states as s
    on s.broker = m.broker and batch_end >= since_batch
      and (until_batch is null or batch_end < until_batch)
)
select * from judged where kind is not null
