{# What leaders reported when they were sampled. #}

{# When a response of `samples` was requested. Where that is not recorded, it was at most 2 s before
   the response was recorded. #}
{% set asked = "coalesce(asked_micros, at_micros - " ~ 2 * micros_per_second ~ ")" %}

{# Each reported value, and the largest one that was reported before the request for it: the keys,
   at_micros, value, before (null if none was). Two threads query at the same time, so the order in
   which responses were recorded proves nothing: only a response that was recorded before a request
   was sent is older than the response to that request. If a clock was set meanwhile, it has to be
   older by as much.
   rows: of `samples`; keys: their names, separated by commas; value: a column. #}
{% macro in_order(rows, keys, value) -%}
(select {{ keys }}, at_micros, value, before
    from (
      select *, max(if(is_answer, value, null)) over (partition by {{ keys }} order by _moment
          range between unbounded preceding and 1 preceding) as before
      from (
        select {{ keys }}, at_micros, {{ value }} as value, at_micros as _moment, true as is_answer
        from {{ rows }}
        union all
        select {{ keys }}, at_micros, {{ value }}, {{ asked }} - :jump_micros, false
        from {{ rows }}))
    where not is_answer)
{%- endmacro %}
