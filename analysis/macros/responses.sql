{# Requests on the wire, and what the checks of the protocol make of their responses. #}
{# What names a partition of a request; of those about committed offsets, which may have ids. #}
{% set call = "worker, seq, topic, partition" %}
{% set commit_call = "worker, seq, topic, partition, asked_id" %}
{# The columns of a response that each check returns, beside rule, expected, got and verdict. #}
{% set response = "worker, seq, broker, api, version, topic, partition, at_micros" %}
{% set metadata_log = "'__cluster_metadata'" %}
{% set validating_apis = "'FETCH', 'LIST_OFFSETS', 'OFFSET_FOR_LEADER_EPOCH'" %}
{# FENCED_LEADER_EPOCH and UNKNOWN_LEADER_EPOCH. #}
{% set epoch_refusals = "74, 75" %}
{# Errors that a broker returns before it compares epochs: of topics, authorization and disks. #}
{% set uncompared_errors = "3, 29, 31, 35, 56, 100, 103" %}

{% set names_of_errors = {0: "NONE", 1: "OFFSET_OUT_OF_RANGE", 6: "NOT_LEADER_OR_FOLLOWER",
  74: "FENCED_LEADER_EPOCH", 75: "UNKNOWN_LEADER_EPOCH"} %}
{% set names_of_commit_errors = {0: "NONE", 3: "UNKNOWN_TOPIC_OR_PARTITION",
  12: "OFFSET_METADATA_TOO_LARGE", 22: "ILLEGAL_GENERATION", 25: "UNKNOWN_MEMBER_ID",
  27: "REBALANCE_IN_PROGRESS", 35: "UNSUPPORTED_VERSION", 47: "INVALID_PRODUCER_EPOCH",
  48: "INVALID_TXN_STATE", 49: "INVALID_PRODUCER_ID_MAPPING", 69: "GROUP_ID_NOT_FOUND",
  82: "FENCED_INSTANCE_ID", 88: "UNSTABLE_OFFSET_COMMIT", 90: "PRODUCER_FENCED",
  100: "UNKNOWN_TOPIC_ID", 113: "STALE_MEMBER_EPOCH"} %}

{# An error, such as `error 74 (FENCED_LEADER_EPOCH)`. #}
{% macro error_in_words(error="error_code", names=names_of_errors) -%}
case {{ error }}
{% for number, name in names.items() %} when {{ number }} then 'error {{ number }} ({{ name }})'
{% endfor %} else concat('error ', cast({{ error }} as string)) end
{%- endmacro %}

{# As `error_in_words`, of a request about committed offsets. #}
{% macro commit_error_in_words(error="error_code") -%}
{{ error_in_words(error, names_of_commit_errors) }}
{%- endmacro %}

{# A commit with its metadata, and with its leader epoch. #}
{% macro commit_in_words(offset, metadata) -%}
format_string('offset %s, metadata "%s"', {{ offset }}, {{ metadata }})
{%- endmacro %}
{% macro commit_epoch_in_words(offset, epoch) -%}
format_string('offset %s, epoch %s', {{ offset }}, {{ epoch }})
{%- endmacro %}

{# An end offset of `leader_calls` by its bounds. #}
{% macro end_in_words() -%}
concat(cast(due_low as string), if(coalesce(due_low = due_high, false), '', ' or more'))
{%- endmacro %}

{# Within which a coordinator applies a marker that it has stored; no document has a bound. #}
{% set marker_applied_micros = 10 * micros_per_second %}
