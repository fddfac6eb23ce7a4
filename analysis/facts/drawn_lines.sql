/*
about: |
  The points of `offsets_over_time` that suffice to draw its lines.

  Of each line these are its first and last point and those at which its offset changes. If that
  makes more than 64, the time of the line is divided into 16 bins of equal length, and each bin has
  four points: the first, the last, the lowest and the highest. A run with more than 90 lines has
  fewer bins, three at least.
subject: drawn
kept: false
like: offsets_over_time
*/
{% set line = "topic, partition, group, line" %}
with compared as (
  select *, lag(offset) over in_order as before, lead(at_micros) over in_order as next_micros
  from offsets_over_time
  where at_micros is not null
  window in_order as (partition by {{ line }} order by at_micros, offset)
),
changes as (
  select *, count(*) over (partition by {{ line }}) as points,
    min(at_micros) over (partition by {{ line }}) as first_micros,
    max(at_micros) over (partition by {{ line }}) as last_micros
  from compared
  where before is null or next_micros is null or offset != before
),
lines as (
  select least(16, greatest(3, floor(1500 / count(*)))) as bins
  from (select distinct {{ line }} from compared)
),
binned as (
  select *, least(bins - 1, floor(
    bins * (at_micros - first_micros) / greatest(1, last_micros - first_micros))) as bin
  from changes cross join lines
),
ranked as (
  select *,
    row_number() over (partition by {{ line }}, bin order by at_micros, offset) as rank_first,
    row_number() over (partition by {{ line }}, bin order by at_micros desc, offset desc)
      as rank_last,
    row_number() over (partition by {{ line }}, bin order by offset, at_micros) as rank_low,
    row_number() over (partition by {{ line }}, bin order by offset desc, at_micros) as rank_high
  from binned
)
select {{ line }}, at_micros, offset
from ranked
where points <= 4 * bins or 1 in (rank_first, rank_last, rank_low, rank_high)
