{# A pattern: errors of a commit of whom the group has no more, without `Exception`, `Error` or
   underscores. #}
{% set no_member = "CommitFailed|UnknownMemberId|IllegalGeneration|FencedInstanceId"
  ~ "|FencedMemberEpoch|StaleMemberEpoch" %}

{# From when on a commit that a client asked for may have been stored, and until when. In histories
   that do not record when it began, that was at most 30 s before the answer.
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

{# Stored commits with reset_cause: of the last reset of the group that had led to exactly the
   committed offset; null if none had.
   commits: a step with rows of `stored_commits`. #}
{% macro with_reset_to(commits) -%}
(select _commit.*, reset_cause
    from {{ commits }} as _commit
    left join (
      select _one.group, _one.topic, _one.partition, offsets_partition, offsets_offset,
        max_by(cause, at_micros) as reset_cause
      from {{ commits }} as _one
      join {{ of_present_topic("client_resets", "at_micros") }} as _reset
        on (_reset.group, _reset.topic, _reset.partition, _reset.to_offset)
          = (_one.group, _one.topic, _one.partition, _one.offset)
      where at_micros <= committed_micros + {{ commit_clock_micros }}
      group by all) as _led using ({{ commit_key }}))
{%- endmacro %}

{# What names a row of `standing_commits`. #}
{% set standing_key = "group, topic, partition, offset, committed_epoch, committed_micros"
  ~ ", stood_micros" %}

{# Rows of `standing_commits` with passed_by: in words, the first event by which the log start
   passed an offset. That is a deletion that a broker logged, else the leader's first answer with
   such a log start; empty where neither came before the commit was asked for.
   offset: an expression. #}
{% macro with_passing(rows, offset) -%}
(select * except (deletion, _report), case
        when deletion.at_micros <= stood_micros then ltrim({{ deletion_in_words() }})
        when _report is not null then format_string(
          'by a deletion before the leader reported log start %s', _report.log_start)
        else '' end as passed_by
    from {{ with_deletion(rows, offset) }}
    left join (
      select {{ standing_key }}, min(struct(first_micros, log_start)) as _report
      from {{ rows }} join log_start_reports using (topic, partition)
      where is_low and log_start > {{ offset }} and first_micros <= stood_micros
      group by all) using ({{ standing_key }}))
{%- endmacro %}

{# Rows of `committed_offsets` with survives: whether a replica in the last ISR of its partition (of an
   empty one, an eligible leader replica) holds it, or that is not known. #}
{% macro with_survival(rows) -%}
(select * except (_last_isr),
      coalesce(size(_last_isr) = 0 or arrays_overlap(brokers, _last_isr), true) as survives
    from {{ rows }} left join (
      select partition as offsets_partition, {{ last_isr }} as _last_isr
      from leaderships where topic = {{ offsets_topic }} group by partition
    ) as _led using (offsets_partition))
{%- endmacro %}
