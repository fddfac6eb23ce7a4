/*
about: |
  Times in which the cluster could serve no client, by its faults.

  The brokers that no fault held were no majority, or a fault held on clients.
subject: faults
columns:
  until: 'null: to the end'
  is_of_clients: a fault held on clients, be it on some of them only
*/
with moments as (
  select injected_micros as since from held_faults where injected_micros is not null
  union
  select ended_micros from held_faults
  where injected_micros is not null and ended_micros is not null
),
times as (
  select since, lead(since) over (order by since) as until from moments
),
on_brokers as (
  select injected_micros, ended_micros, explode(brokers) as broker from held_faults
),
held as (
  select since, until, count(distinct broker) as brokers
  from times join on_brokers
    on injected_micros <= since and coalesce(ended_micros > since, true)
  group by all
),
known as (
  select count(distinct broker) as all_brokers from broker_states
)
select since, until, false as is_of_clients
from held cross join known
where all_brokers > 0 and 2 * (all_brokers - brokers) <= all_brokers
union all
select injected_micros, ended_micros, true
from held_faults
where injected_micros is not null and (fault = 'cut clients' or target_kind = 'client')
