{# Why a follower's log start advances: the leader's is there already. #}
{% set of_leader = "'leader offset increment'" %}

{# Rows of a table, a fact or a step whose time, a column, is not before their topic was created
   again. #}
{% macro of_present_topic(rows, at) -%}
(select _row.* from {{ rows }} as _row
    left join recreations as _again
      on _again.topic = _row.topic and _again.partition = _row.partition
        and _row.{{ at }} < _again.created_micros
    where _again.topic is null)
{%- endmacro %}

{# Rows with is_of_former: whether a time, a column, is before their topic was created again. Then the
   row is about another topic of that name. #}
{% macro with_former_topic(rows, at) -%}
(select _row.*, coalesce(_row.{{ at }} < _again.created_micros, false) as is_of_former
    from {{ rows }} as _row
    left join recreations as _again
      on _again.topic = _row.topic and _again.partition = _row.partition)
{%- endmacro %}

{# Rows (topic, partition, at_micros; few) with start_low and start_high: the bounds of the leader's
   log start at that time. start_low is the highest that was reported until then. start_high is the
   lowest that was reported since then, or at the end. It is also the highest of all replicas until
   then, where the servers' logs have every advance up to the end. #}
{% macro with_log_starts(rows) -%}
(select _moment.*, coalesce(_low, 0) as start_low,
      greatest(coalesce(_low, 0), least(_high, _bound.log_start,
        if(_logged_last >= _bound.log_start, coalesce(_logged, 0), null))) as start_high
    from {{ rows }} as _moment
    left join (
      select _then.topic, _then.partition, _then.at_micros,
        max(log_start) filter (where is_low and first_micros <= at_micros) as _low,
        min(log_start) filter (where is_high and last_micros >= at_micros + :clock_micros) as _high,
        max(log_start) filter (where is_logged and first_micros <= at_micros + :clock_micros)
          as _logged,
        max(log_start) filter (where is_logged) as _logged_last
      from (select distinct topic, partition, at_micros from {{ rows }}) as _then
      left join log_start_reports using (topic, partition)
      group by all) as _known
      on _known.topic = _moment.topic and _known.partition = _moment.partition
        and _known.at_micros = _moment.at_micros
    left join log_bounds as _bound
      on _bound.topic = _moment.topic and _bound.partition = _moment.partition)
{%- endmacro %}

{# Rows with `deletion`: the first deletion that the servers logged of records up to an offset, an
   expression; a struct (see `logged_deletions`), null if none was logged. #}
{% macro with_deletion(rows, offset) -%}
(select * except (_deletions),
      array_min(filter(_deletions, one -> one.log_start > {{ offset }})) as deletion
    from {{ rows }} left join logged_deletions using (topic, partition))
{%- endmacro %}

{# Of a row of `faults`: the offset up to which it had records deleted; null of any other fault. #}
{% macro ordered_to() -%}
cast(nullif(regexp_extract(if(fault = 'delete records', evidence, ''),
  '"log_start": *([0-9]+)', 1), '') as bigint)
{%- endmacro %}

{# To be joined to `rows`: the orders of the run (`deletion_orders`) to delete of their partition, up
   to a log start and by a time. Where one of these is not known, each order counts. #}
{% macro orders_of(rows, log_start, by) -%}
deletion_orders as ordered on ordered.topic = {{ rows }}.topic
  and coalesce(ordered.partition = {{ rows }}.partition, true)
  and coalesce({{ log_start }} <= ordered_to, true)
  and coalesce(ordered_micros <= {{ by }}, true)
{%- endmacro %}

{# Of rows of `with_deletion`: the event; empty if no deletion was logged. #}
{% macro deletion_in_words() -%}
case when deletion is not null then format_string(
  ' by %s on broker %s, which raised the log start to %s',
  deletion.reason, deletion.broker, deletion.log_start) else '' end
{%- endmacro %}
