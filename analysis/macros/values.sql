{# Offsets that have several values, in spans: topic, partition, offset_first, offset_last, records,
   epoch_first, epoch_last, explanation, is_not_required (of a truncation without a permit: whether no
   overwritten value was sent with acks=all), permit and is_unreported (see `with_permit`), readers
   (the groups, in words), at.
   rows: of `rival_values`. #}
{% macro several_values(rows) -%}
{% set offsets -%}
(select *, case
        when known_micros <= created_micros + :clock_micros then 'the topic was created again'
        when is_double then 'under one epoch'
        else 'rewritten by a truncation'
      end as explanation
    from (
      select topic, partition, offset, last_offset,
        min(leader_epoch) as epoch_first, max(leader_epoch) as epoch_last,
        count(*) > count(distinct leader_epoch) as is_double,
        coalesce(min(leader_epoch) filter (where is_required) < max(leader_epoch), false) as is_required,
        array_join(sort_array(array_distinct(flatten(collect_list(groups)))), ', ') as readers,
        min(first_micros) as at, min(least(first_micros, answered_micros)) as known_micros
      from {{ rows }}
      group by all)
    left join timelines using (topic, partition)
    left join recreations using (topic, partition))
{%- endset %}
{% set explained -%}
(select *, if(explanation = 'rewritten by a truncation' and permit is null,
        epoch_first >= 0 and not is_required, null) as is_not_required
    from {{ with_permit(offsets, "epoch_first", "epoch_last", "offset") }})
{%- endset %}
{{ spans(explained, "topic, partition, epoch_first, epoch_last, explanation, is_not_required,
  permit, is_unreported, readers", "min(at) as at,") }}
{%- endmacro %}
