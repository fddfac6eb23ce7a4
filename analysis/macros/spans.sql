{# Contiguous slices of equal keys as one row each: the keys, offset_first, offset_last, records (how
   many offsets that is), and aggregates.
   rows: slices with `offset`, `last_offset` and the keys; keys: their names, separated by commas;
   aggregates: further columns of a span, SQL that ends with a comma. #}
{% macro spans(rows, keys, aggregates="") -%}
(select {{ keys }}, {{ aggregates }} min(offset) as offset_first, max(last_offset) as offset_last,
      max(last_offset) - min(offset) + 1 as records
    from (
      select *, sum(_apart) over (partition by {{ keys }} order by offset) as _span
      from (
        select *, if(offset <= lag(last_offset) over (
            partition by {{ keys }} order by offset) + 1, 0, 1) as _apart
        from {{ rows }}))
    group by {{ keys }}, _span)
{%- endmacro %}
