{# Whether a record's `leader_epoch` fits between those of the records around what was passed, of
   `passed_slices`. One of another branch was appended later, or truncated before. #}
{% macro is_on_branch() -%}
leader_epoch >= prev_epoch and (next_epoch < 0 or leader_epoch <= next_epoch)
{%- endmacro %}
