{# Waits of 2 s or more as outages: the keys, at, ended, records (how many waited) and unanswered
   (how many of them in vain). A shorter wait may be a slow machine. Waits that overlap are one
   outage. So are those within 10 s of each other, if nothing was answered from when the last one
   began until the next one did: each attempt ends by its own timeout, the outage by an answer.
   waits: a step with the keys, at, ended, records and unanswered.
   keys: what an outage is of, separated by commas.
   answers: a step with the keys, began_micros and answered_micros of what was answered; empty where
   every wait ended with an answer. #}
{% macro outages_of(waits, keys, answers="") -%}
{% set is_apart = "at > last_ended" ~
  (" and (is_answered or at - last_ended > " ~ 10 * micros_per_second ~ ")" if answers else "") %}
(with waited as (
      select *, max(at) over earlier as last_at, max(ended) over earlier as last_ended
      from {{ waits }}
      where ended - at >= {{ 2 * micros_per_second }}
      window earlier as (partition by {{ keys }} order by at, ended
        rows between unbounded preceding and 1 preceding)
    ),
    {% if answers %}
    answered as (
      select distinct {{ keys }}, last_at, at, true as is_answered
      from waited join {{ answers }} using ({{ keys }})
      where at > last_ended and answered_micros <= at
        and (began_micros >= last_at or answered_micros >= last_ended)
    ),
    {% endif %}
    numbered as (
      select *, sum(if({{ is_apart }}, 1, 0)) over (
          partition by {{ keys }} order by at, ended) as number
      from waited{{ " left join answered using (" ~ keys ~ ", last_at, at)" if answers else "" }}
    )
    select {{ keys }}, min(at) as at, max(ended) as ended, sum(records) as records,
      sum(unanswered) as unanswered
    from numbered
    group by {{ keys }}, number)
{%- endmacro %}

{# Outages with each time (since, until) in which no service was possible: the partition had no
   leader, faults left no majority of the brokers or held on clients, or, where the outage
   `needs_insync`, too few replicas were in sync.
   outages: a step with topic, partition, needs_insync, at and ended. #}
{% macro with_excuses(outages) -%}
(select _outage.*, since, until
    from {{ outages }} as _outage
    join unservable as _gap
      on (_gap.topic, _gap.partition) = (_outage.topic, _outage.partition)
    where needs_insync or not is_small
    union all
    select _outage.*, since, until from {{ outages }} as _outage cross join service_gaps)
{%- endmacro %}

{# Outages with request_ms, as it is planned, and may_be_silent: whether a fault was in force
   meanwhile, so that a broker may have kept a request without a response. A request of an
   administrator, such as the deletion of a topic, keeps none.
   outages: a step with the key, at and ended.
   planned: `planned_groups` or `planned_topics`.
   key: its first column. #}
{% macro with_timeouts(outages, planned, key) -%}
(with faulty as (
      select distinct at, ended, true as is_faulty
      from {{ outages }} join held_faults
        on injected_micros <= ended and coalesce(ended_micros >= at, true)
          and (size(brokers) > 0 or not is_instant)
    )
    select _outage.*, request_ms, coalesce(is_faulty, false) as may_be_silent
    from {{ outages }} as _outage
    left join (select distinct {{ key }}, request_ms from {{ planned }}) using ({{ key }})
    left join faulty using (at, ended))
{%- endmacro %}

{# Outages with seconds, servable_seconds (of it, in which service was possible), recovery_seconds
   (from when it was possible until there was one), required_seconds.
   outages: a step with the keys, at and ended, request_ms and may_be_silent.
   excuses: a step with these and since and until; they may overlap.
   keys: separated by commas. #}
{% macro with_service(outages, excuses, keys) -%}
(with excused as (
      select {{ keys }}, at, ended, greatest(at, since) as first, least(ended, until) as last
      from {{ excuses }}
      where least(ended, until) > greatest(at, since)
    ),
    added as (
      select *, greatest(first, max(last) over (
          partition by {{ keys }}, at, ended order by first, last
          rows between unbounded preceding and 1 preceding)) as begins
      from excused
    ),
    summed as (
      select {{ keys }}, at, ended, sum(greatest(last - begins, 0)) as excused_micros,
        max(last) as servable_micros
      from added
      group by all
    )
    select *, (ended - at) / {{ micros_per_second }} as seconds,
      (ended - at - coalesce(excused_micros, 0)) / {{ micros_per_second }} as servable_seconds,
      (ended - coalesce(servable_micros, at)) / {{ micros_per_second }} as recovery_seconds,
      {{ required_of_client }} as required_seconds
    from {{ outages }} left join summed using ({{ keys }}, at, ended))
{%- endmacro %}

{# All outages in one line. #}
{% set summary_of_outages %}
select format_string('%s outages, the longest %.1f s on %s-%s; %,d operations waited', count(*),
  round(max(seconds), 1), max(struct(seconds, topic, partition)).topic,
  max(struct(seconds, topic, partition)).partition, sum(records)) as summary
from findings
having count(*) > 0
{% endset %}
{# Of a send: whether it waits for the whole ISR. #}
{% set is_for_all = "acks not in ('0', '1')" %}
