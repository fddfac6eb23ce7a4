{# Rows with the first election that permits their loss by truncation: `permit`, an event as a struct
   (see `permits`), null if no election permits it; and `is_unreported`, whether an election in
   between is not known, so that the absence of a permit proves nothing. An election that permits
   came after the epoch that held the records, not after the one that took over, and started at or
   below the offset, or with a log that lacked that epoch: also where that is not known.
   rows: a table or step with topic, partition and timeline, of the present topic of that name.
   after: the epoch that held the records; null if it is not known.
   to: the epoch that took over without them.
   offset: the first offset that is lost. All three are expressions. #}
{% macro with_permit(rows, after, to, offset) -%}
(select * except (_elections_known, _elections_permitting),
      array_min(filter(_elections_permitting,
        one -> one.number > {{ after }} and one.number <= {{ to }}
          and not {{ keeps("one.number", after, offset) }})) as permit,
      coalesce({{ after }}, -1) < 0
        or not coalesce(exists(_elections_known, one -> one.epoch = {{ to }}), false)
        or exists(_elections_known, one -> one.epoch > {{ after }} and one.epoch <= {{ to }}
          and one.kind = 'unknown') as is_unreported
    from {{ rows }} left join elections_of_log using (topic, partition))
{%- endmacro %}

{# As `with_permit`, of commits (led_epoch, timeline): by an election since they were stored. #}
{% macro with_permit_since(commits, offset) -%}
{{ with_permit(commits, "led_epoch", "array_max(timeline).leader_epoch", offset) }}
{%- endmacro %}

{# What the log lacks, with `permit`: the first event since that permits its loss, a struct (see
   `permits`), null if there is none. An election permits as of `with_permit`, a deletion what lies
   below the log start.
   rows: with topic, partition and timeline, of the present topic of that name.
   since: when the log had it; offset: where, null where that is not known; until: by when it has to
   be over, null at any time. All are expressions. #}
{% macro with_later_permit(rows, since="answered_micros", offset="offset", until="") -%}
(select * except (_permits), array_min(filter(_permits,
        one -> one.at_micros between {{ since }} - :clock_micros
          and {{ "coalesce(" ~ until ~ " + :clock_micros, one.at_micros)" if until else "one.at_micros" }}
          and case one.cause
            when 'election' then not {{ keeps("one.number", "cast(null as int)", offset) }}
            when 'deletion' then one.number > {{ offset }}
            else true
          end)) as permit
    from {{ rows }} left join permits_of_log using (topic, partition))
{%- endmacro %}

{# Commits that are lost, with `permit`: the first event since that permits it, a struct (see
   `permits`) of the group's partition of `__consumer_offsets`; null if there is none.
   since: a time; partition: that partition, null any. Both are expressions. #}
{% macro with_offsets_permit(rows, since, partition) -%}
(select * except (_permits), array_min(filter(_permits,
        one -> one.at_micros > {{ since }} - :clock_micros
          and coalesce(one.partition = {{ partition }}, true))) as permit
    from {{ rows }} cross join (
      select collect_list(struct(at_micros, cause, number, words, partition)) as _permits
      from permits where topic = {{ offsets_topic }}))
{%- endmacro %}
