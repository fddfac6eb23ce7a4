{# What the log of a leader had, as of a `timeline` (the fact `timelines`): expressions. `one` and
   `two` are epochs of it. #}
{% set heard_micros = 5 * micros_per_second %}
{# As late as any time may be: more can be added to it without an overflow. #}
{% set forever = "4611686018427387904" %}

{# Whether `one` parted from an epoch in the log of a leader: it is a newer epoch that had begun, or
   the epoch itself, if the leader's log lacked it. Newer ones that this log lacked do not count.
   begun: whether `one` had begun; heard: whether every client had heard of `two`. #}
{% macro leaves(epoch, begun, heard) -%}
{% set led = "array_max(filter(timeline, two -> " ~ heard ~ "))" %}
{% set is_lacked = "one.is_lacked and coalesce(array_contains(" ~ led ~ ".lacked, one.leader_epoch), false)" %}
({{ begun }} and if(one.leader_epoch = {{ epoch }}, {{ is_lacked }},
  one.leader_epoch > {{ epoch }} and not ({{ is_lacked }})))
{%- endmacro %}

{# As `leaves`, of the leader that every client had heard of by then; with `heard` 0, of the one in
   force. #}
{% macro leaves_by(epoch, until, heard=heard_micros) -%}
{{ leaves(epoch, "coalesce(one.from_micros <= " ~ until ~ ", true)",
  "coalesce(two.from_micros <= " ~ until ~ " - " ~ heard ~ ", true)") }}
{%- endmacro %}

{# The newest epoch that had begun by then. #}
{% macro led_then(until) -%}
array_max(filter(timeline, one -> coalesce(one.from_micros <= {{ until }}, true))).leader_epoch
{%- endmacro %}

{# Whether the log of a leader epoch may have had an offset of an older epoch. #}
{% macro had(leader_epoch, epoch, offset) -%}
not coalesce(exists(timeline, one -> one.start_high <= {{ offset }}
  and {{ leaves(epoch, "one.leader_epoch <= " ~ leader_epoch, "two.leader_epoch <= " ~ leader_epoch) }}
), false)
{%- endmacro %}

{# Where the log had left an epoch by then; null while no newer epoch had started. Offsets at or
   above it were not of that epoch or an older one. Where the start of a newer epoch has two bounds,
   it is too high. #}
{% macro fork_then(epoch, until) -%}
array_min(transform(filter(timeline, one -> {{ leaves_by(epoch, until) }}), one -> one.start_high))
{%- endmacro %}

{# Which end of an epoch the leader in force by then returned; null: its log end. It is the start of
   the first larger epoch that its log has (`LeaderEpochFileCache.endOffsetFor`). Of an epoch that
   its log lacked, that may be above where the two logs part: then no client notices that compares it
   with its position, as KIP-320 has it. #}
{% macro end_then(epoch, until) -%}
array_min(transform(filter(timeline,
  one -> one.leader_epoch > {{ epoch }} and {{ leaves_by(epoch, until) }}), one -> one.start_high))
{%- endmacro %}

{# Whether what the surviving log has at an offset may have been there by then. Not if its epoch
   began later, or if the log in force had left it below the offset. #}
{% macro was_there(epoch, offset, until) -%}
not coalesce(exists(timeline, one -> one.leader_epoch = {{ epoch }} and one.from_micros > {{ until }}
  or one.start_high <= {{ offset }} and {{ leaves_by(epoch, until) }}), false)
{%- endmacro %}

{# Whether an epoch, or a newer one, had begun by then. #}
{% macro has_begun(epoch, until) -%}
coalesce(exists(timeline, one -> one.leader_epoch >= {{ epoch }}
  and coalesce(one.from_micros <= {{ until }}, true)), false)
{%- endmacro %}

{# Whether a newer epoch started below an offset by then: the position was truncated, whether its
   client asked the leader in force or the one before. A position's epoch is that of the record
   before it. #}
{% macro is_overwritten(epoch, offset, until, start="one.start_high") -%}
coalesce(exists(timeline, one -> {{ start }} < {{ offset }}
  and ({{ leaves_by(epoch, until) }} or {{ leaves_by(epoch, until, heard=0) }})), false)
{%- endmacro %}

{# As `is_overwritten`, but true as well where it is not known where a newer epoch started. #}
{% macro may_be_overwritten(epoch, offset, until) -%}
{{ is_overwritten(epoch, offset, until, start="coalesce(one.start_low, 0)") }}
{%- endmacro %}

{# Whether the log of a newer epoch surely had an offset of an older one: it started above the
   offset, and did not lack the older epoch. False where that is not known. #}
{% macro keeps(newer, epoch, offset) -%}
coalesce(exists(timeline, other -> other.leader_epoch = {{ newer }} and other.start_low > {{ offset }}
  and not coalesce(array_contains(other.lacked, {{ epoch }}), false)
  and not coalesce(array_contains(other.may_lack, {{ epoch }}), false)), false)
{%- endmacro %}

{# The first epoch after one that surely began without an offset: an element of the timeline, null
   if there is none. Epochs whose branch was abandoned itself do not count. #}
{% macro took_over(epoch, offset) -%}
array_min(filter(timeline, one -> one.leader_epoch > {{ epoch }} and one.is_kept
  and (one.start_high <= {{ offset }} or array_contains(one.lacked, {{ epoch }}))))
{%- endmacro %}
