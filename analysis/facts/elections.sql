/*
about: |
  Every election of a leader, in each partition.

  Its kind is `first` (the partition was created), `clean` (out of the ISR), `eligible` (out of the
  eligible leader replicas), `reassigned` (with other replicas), `configured`, `ordered`, `last
  known leader` and `unconfigured` (unclean, and what allowed it), or `unknown` (the state before
  it is not in the metadata log).
subject: elections
optional: [broker_states]
columns:
  kind: see below
  permits: what permits this election to lose records, in words; null if nothing does
  passed_over: of an unclean election, the eligible leader replicas that were in service; null if
    none was
*/
{% set is_after = "one.injected_micros - :clock_micros <= at_micros" %}
{% set is_meanwhile =
  is_after ~ " and at_micros <= coalesce(one.healed_micros, at_micros) + :clock_micros" %}
{% set is_next = "one.injected_micros - :clock_micros > coalesce(before_micros, 0)" %}
with entries as (
  select topic, partition, creation, explode(array_except(isr, was.isr)) as leader,
    metadata_offset as entered_at, at_micros as entered_micros
  from leadership_changes
  where was is not null
),
elected as (
  select *, lag(at_micros) over (
      partition by topic, partition, creation order by metadata_offset) as before_micros,
    -- A reassignment may elect a replica that comes into the ISR by the same record.
    was is not null and isr = array(leader) and not array_contains(was.isr, leader)
      and not coalesce(array_contains(was.elr, leader), false)
      and array_sort(replicas) = array_sort(was.replicas) as is_unclean
  from leadership_changes
  where leader >= 0 and (was is null or leader_epoch != was.leader_epoch)
),
entered as (
  select topic, partition, metadata_offset, max_by(entered_micros, entered_at) as entered_micros
  from elected join entries using (topic, partition, creation, leader)
  where entered_at < metadata_offset
  group by all
),
eligible as (
  select topic, partition, metadata_offset, explode(was.elr) as broker from elected where is_unclean
),
-- One that registers again after an unclean shutdown is still fenced, and loses its eligibility by
-- the same change.
registered as (
  select e.topic, e.partition, e.metadata_offset, e.broker,
    max_by(s.is_fenced, s.metadata_offset) as is_fenced
  from eligible as e join broker_states as s
    on s.broker = e.broker and s.metadata_offset < e.metadata_offset
  group by all
),
in_service as (
  select topic, partition, metadata_offset, sort_array(collect_set(broker)) as passed_over
  from registered
  where not is_fenced
  group by all
),
injected as (
  select
    collect_list(struct(topic, partition, injected_micros, proved_micros, healed_micros))
      filter (where fault = 'elect unclean') as orders,
    collect_list(struct(brokers, injected_micros, coalesce(heal_began_micros, healed_micros)
      as healed_micros)) filter (where fault = 'wipe') as wipes,
    collect_list(struct(topic, partition, injected_micros, healed_micros))
      filter (where fault = 'cut tails') as tails
  from faults
),
followed as (
  select elected.*, entered_micros, passed_over, orders, wipes, tails,
    coalesce(planned.unclean_election, otherwise.unclean_election) as may_be_unclean,
    exists(orders, one -> (one.topic, one.partition) = (topic, partition)
      and {{ is_meanwhile }} and ({{ is_next }}
        or at_micros <= coalesce(one.proved_micros, one.injected_micros) + :clock_micros))
      as is_ordered,
    exists(wipes, one -> array_contains(one.brokers, leader)
      and {{ is_after }} and not coalesce(entered_micros >= one.healed_micros, false)) as is_wiped,
    exists(tails, one -> (one.topic, one.partition) = (topic, partition)
      and {{ is_after }} and ({{ is_meanwhile }} or {{ is_next }})) as is_cut
  from elected
  cross join injected
  left join entered using (topic, partition, metadata_offset)
  left join in_service using (topic, partition, metadata_offset)
  left join planned_topics as planned using (topic)
  cross join run_conditions as otherwise
),
named as (
  select *, case
      when is_first then 'first'
      when was is null then 'unknown'
      when is_unclean and may_be_unclean then 'configured'
      when is_unclean and is_ordered then 'ordered'
      when is_unclean and size(was.isr) = 0 and leader = last_leader and passed_over is null
        then 'last known leader'
      when is_unclean then 'unconfigured'
      when array_contains(was.isr, leader) then 'clean'
      when array_contains(was.elr, leader) then 'eligible'
      else 'reassigned'
    end as kind
  from followed
)
select topic, partition, creation, topic_id, leader_epoch as epoch, leader, kind, is_unclean,
  case
    when kind = 'configured' then 'unclean election by configuration'
    when kind = 'ordered' then 'unclean election on request'
    when is_wiped then 'election of a broker whose disk was wiped'
    when is_cut then 'election after the tails of all replicas were truncated'
  end as permits,
  metadata_offset, at_micros, was.isr as isr_before, was.elr as elr_before, passed_over
from named
