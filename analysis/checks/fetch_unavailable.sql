/*
id: H2
definition: A member got nothing for 2 s or more, though its next record was below the high
  watermark.
explanation: >-
  The wait begins when that record was acknowledged. It does not count if the member was asked to
  stop in between or had come to the end, nor while it did not own the partition or had paused it.
  Waits of a member within 10 s are one outage. A violation if the partition could serve for more
  than 30 s of it, as in `produce_unavailable`; if a fault was in force meanwhile, for more than
  three times the client's request timeout, where that is longer. The ISR counts only while no source proves that the high watermark was
  beyond the record: a leader's report, a delivery to any group, or an acknowledgement with
  acks=all. A new leader that reports it later could not serve before the first proof. Groups that
  read committed values wait for transactions and are left out. A former leader that a fault
  partitions from the controllers, and not from clients, raises no error: a member that fetches
  from it asks for metadata after `metadata.max.age.ms` only. Until then, the heal, or a record of
  a newer epoch for the member, the wait does not count.
permitted: it could serve for so long or less.
undecided: it could for more than 30 s, and a fault was in force, and the client's request timeout is
  not known; or the member is a guest that went on past the record, perhaps before, as after a reset.
evaluates: every pause between two polls of a member that returned records.
source: >-
  KAFKA-15583: the high watermark does not advance while the ISR is too small; consumer
  configuration, `metadata.max.age.ms`; decision 8.
needs: [polls, sends, leaderships]
evaluated: select count(*) as evaluated from poll_pauses
cases:
- violation: unavailable
  cause: >-
    operations that waited: {records}; for {seconds:.1f} s in total, {servable_seconds:.1f} s of it
    while the brokers could serve{passed}{stale}
  permitted_if: servable_seconds <= required_seconds
  undecided_if: is_passed or may_be_silent and request_ms is null
summary: '{{ summary_of_outages }}'
evidence: >-
  member, records, unanswered, seconds, servable_seconds, recovery_seconds, required_seconds,
  needs_insync, is_passed
*/
{% set keys = "group, member, topic, partition, needs_insync, is_passed" %}
with required as (
  select group, member, topic, partition, seq, offset, at, ended,
    min(required_micros) filter (where not is_unknown) as reported_micros,
    min(since) filter (where is_unknown and required_micros is not null) as proved_micros
  from leaders_of_waits
  group by all
),
waits as (
  select group, member, topic, partition, ended, is_passed, 1 as records, 0 as unanswered,
    if(reported_micros is null, at, least(reported_micros, proved_micros)) as at,
    reported_micros is null and proved_micros is null as needs_insync
  from fetch_waits
  left join required using (group, member, topic, partition, seq, offset, at, ended)
),
paused as (
  select * from {{ outages_of("waits", keys) }}
),
outages as (
  select * from {{ with_timeouts("paused", "planned_groups", "group") }}
),
-- After an election the new leader's high watermark may be lower, until it is proved beyond. The
-- leader reports none until it has reached the start of its epoch (KIP-207): then only a small ISR
-- excuses it.
not_required as (
  select group, topic, partition, since, coalesce(required_micros, until) as until, is_unknown
  from leaders_of_waits
  where required_micros is null or required_micros > since
),
excused as (
  select group, topic, partition, since, until from not_required where not is_unknown
  union all
  select group, topic, partition, greatest(n.since, u.since), least(n.until, u.until)
  from not_required as n join unservable as u using (topic, partition)
  where is_unknown and is_small
),
excuses as (
  select * from {{ with_excuses("outages") }}
  union all
  select outages.*, since, until
  from outages
  join excused as e
    on (e.group, e.topic, e.partition) = (outages.group, outages.topic, outages.partition)
  where not needs_insync
  union all
  select outages.*, since, until
  from outages join stale_leaders using (group, member, topic, partition)
),
of_stale_leaders as (
  select group, member, topic, partition, at, ended, max(broker) as former
  from outages join stale_leaders using (group, member, topic, partition)
  where since < ended and until > at
  group by all
)
select *, if(is_passed, '; the member went on past them', '') as passed,
  if(former is null, '', format_string(
    '; broker %s, which had led, was partitioned from the controllers and not from clients',
    former)) as stale
from {{ with_service("outages", "excuses", keys) }}
left join of_stale_leaders using (group, member, topic, partition, at, ended)
