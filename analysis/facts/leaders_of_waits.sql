/*
about: |
  Each of `fetch_waits` once for every leader epoch in it.

  The leader has to serve the record once its high watermark is proved to be above the record's
  offset (`high_watermark_proofs`).
subject: deliveries
columns:
  at: micros, as in `fetch_waits`
  ended: micros, as in `fetch_waits`
  since: micros, when the epoch's part of the wait began
  until: micros, when that part ended
  required_micros: since when in that part the leader had to serve the record; null if nothing
    proves it
  is_unknown: whether nothing shows that the leader's high watermark passed the record before that
    part ended
*/
with parts as (
  select group, member, topic, partition, seq, offset, at, ended, epoch, from_micros,
    greatest(at, from_micros) as since, least(ended, until_micros) as until,
    max(is_for_all and answered_micros >= from_micros
      and coalesce(answered_micros < until_micros, true)) as is_held
  from fetch_waits join leader_epochs using (topic, partition)
  where greatest(at, from_micros) < least(ended, until_micros)
  group by all
),
proofs as (
  select topic, partition, epoch, from_micros, offset, proved_micros, reported_micros,
    false as is_asked
  from high_watermark_proofs left semi join parts using (topic, partition, epoch, from_micros)
  union all
  select distinct topic, partition, epoch, from_micros, offset, null, null, true from parts
),
-- Within a leader epoch a high watermark does not go back.
followed as (
  select topic, partition, epoch, from_micros, offset, is_asked,
    min(proved_micros) over from_above as proved_micros,
    min(reported_micros) over from_above as reported_micros
  from proofs
  window from_above as (
    partition by topic, partition, epoch, from_micros order by offset desc
    range between unbounded preceding and current row)
),
proved as (
  select * except (is_asked) from followed where is_asked
)
select group, member, topic, partition, seq, offset, at, ended, since, until,
  case
    when is_held then since
    when proved_micros < until then greatest(since, proved_micros)
  end as required_micros,
  -- For sqlfluff, a NOT that begins a column is a function.
  not (is_held or coalesce(reported_micros < until, false)) as is_unknown -- noqa: LT01, LT06
from parts left join proved using (topic, partition, epoch, from_micros, offset)
