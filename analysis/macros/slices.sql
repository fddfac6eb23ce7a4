{# Records in slices: ranges of records that every source of a run has whole, or not at all.

   Sends, deliveries and replicas come as ranges (`contract.ranges`), and each source has ranges of
   its own. The facts of slices have all of them split at the same offsets (`slice_edges`): where a
   range of any source begins or ends, and at every offset that the run names otherwise. So what
   holds for the first record of a slice holds for all of it, and a statement may treat a slice as
   it would treat one record: equal records are equal in topic, partition, offset and value. It only
   has to count `records`, and to go on after `last_offset`. A value that lies at several offsets is
   a slice of its own at each of them, so that slices with equal values are equal too. #}

{# Of a row of `sends`. #}
{% set is_acknowledged = "outcome = 'ok' and first_offset is not null" %}

{# What a value is called, by its sequence number, an expression; see the column `value`. #}
{% macro value_at(sequence) -%}
coalesce(concat('"', value, '"'), concat(producer, ':', cast({{ sequence }} as string)))
{%- endmacro %}

{# Rows of ranges of offsets as rows of slices: with slice_first, slice_last (inclusive), records.
   rows: a table or step with topic, partition and the columns `first` and `last` (inclusive), at
   which `slice_edges` has to have an edge. #}
{% macro sliced(rows, first, last) -%}
(select _placed.* except (_place), at as slice_first, next_at - 1 as slice_last,
      next_at - at as records
    from (
      select _range.*, explode(sequence(_begin.place, _end.place - 1)) as _place
      from {{ rows }} as _range
      join slice_edges as _begin on (_begin.topic, _begin.partition, _begin.at)
        = (_range.topic, _range.partition, _range.{{ first }})
      join slice_edges as _end on (_end.topic, _end.partition, _end.at)
        = (_range.topic, _range.partition, _range.{{ last }} + 1)) as _placed
    join slice_edges as _slice on (_slice.topic, _slice.partition, _slice.place)
      = (_placed.topic, _placed.partition, _placed._place))
{%- endmacro %}

{# The slices of a table of records: a statement.
   columns: others than those of its ranges. #}
{% macro slices_of(rows, columns) -%}
select {{ columns }}, slice_first as offset, slice_last as last_offset, records, producer,
  first_sequence + slice_first - first_offset as sequence,
  {{ value_at("first_sequence + slice_first - first_offset") }} as value
from {{ sliced(rows, "first_offset", "last_offset") }}
{%- endmacro %}
