{# Rows without those whose client reported the loss: a reset of that partition by a truncation, or an
   exception about one that names the partition, or no partition at all.
   rows: a step with group, topic and partition; since: a column, when the first lost record was
   polled; until: a column, when the group went on. A client's log has milliseconds, and a line of it
   or an exception may come up to 1 s after the group went on. #}
{% macro unnoticed(rows, since, until) -%}
(select _gone.*
    from {{ rows }} as _gone
    left anti join truncation_notices as _notice
      on _notice.group = _gone.group
        and _notice.at_micros + 1000 + :skew_micros > _gone.{{ since }}
        and _notice.at_micros <= _gone.{{ until }} + {{ micros_per_second }} + :skew_micros
        and (coalesce(_notice.topic, '') = ''
          or (_notice.topic, _notice.partition) = (_gone.topic, _gone.partition)
          or coalesce(_notice.message rlike
            concat('\\b\\Q', _gone.topic, '-', _gone.partition, '\\E\\b'), false)))
{%- endmacro %}
