{# From when on a commit that a client asked for may have been stored, and until when. Histories that
   do not record when it began have at most 30 s before the answer.
   answered: the column of the time of the answer; the rows have began_micros. #}
{% macro asked_first(answered) -%}
coalesce(began_micros, {{ answered }} - {{ 30 * micros_per_second }})
    - :clock_micros - {{ commit_clock_micros }}
{%- endmacro %}
{% macro asked_last(answered) -%}
{{ answered }} + :clock_micros
{%- endmacro %}

{# The last stored commit of each group and partition: committed_offset, committed_epoch and
   committed_micros. Offsets that a transaction sent count once its commit marker is stored.
   rows: of `client_offsets`. #}
{% macro last_commits(rows) -%}
(select group, topic, partition,
      max_by(offset, {{ in_log }}) as committed_offset,
      max_by(committed_epoch, {{ in_log }}) as committed_epoch,
      max_by(committed_micros, {{ in_log }}) as committed_micros
    from {{ rows }} where {{ is_stored }} group by all)
{%- endmacro %}
