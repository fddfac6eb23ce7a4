/*
id: F8
definition: 'A group was delivered records again: deliveries per distinct record.'
explanation: For the whole run, where each repeated delivery counts, and for each fault, where
  each record counts whose last delivery was while the fault held. There is no amplification if
  nothing was new.
evaluates: every delivery.
source: "Kafka's documentation, Message Delivery Semantics: delivery is at least once."
needs: [polls]
evaluated: select coalesce(sum(records), 0) as evaluated from deliveries
cases:
- permitted: whole run
  when: during = 'whole run'
  cause: '{during}: {again} of {delivered} deliveries repeated a record'
- permitted: while a fault held
  cause: '{during}: {again} of {delivered} deliveries repeated a record'
evidence: during, delivered, again, amplification
*/
{% set interval_micros = 10 * micros_per_second %}
with bounds as (
  select min(polled_micros) as first, max(polled_micros) + 1 as end from polls
),
times as (
  select 0L as began_micros, 'whole run' as during, first as since, end as until from bounds
  union all
  select injected_micros, concat(fault, ' ', target),
    greatest(injected_micros, first), least(ended_micros, end)
  from held_faults cross join bounds
),
intervals as (
  select *, explode(sequence(
      since div {{ interval_micros }}, (until - 1) div {{ interval_micros }})) as slot
  from times
  where since < until
),
repeats as (
  select group, began_micros, during,
    sum(if(during = 'whole run', deliveries - 1, 1) * records) as again
  from repeated_slices join intervals on slot = last_micros div {{ interval_micros }}
  where last_micros >= since and last_micros < until
  group by all
),
totals as (
  select group, began_micros, during, sum(records) as delivered
  from deliveries join intervals on slot = at_micros div {{ interval_micros }}
  where at_micros >= since and at_micros < until
  group by all
)
-- Engines round halves of doubles differently, but not of decimals.
select *, cast(round(cast(delivered / nullif(delivered - again, 0) as decimal(20, 6)), 3) as double)
    as amplification
from repeats join totals using (group, began_micros, during)
