/*
about: |
  Stored commits that pages draw: the first and the last of each epoch in a row, 24 at most, and
  about 24 of the others.
subject: drawn
optional: [committed_offsets]
columns:
  shown: how many are drawn
  commits: how many there are
*/
{% set here = "partition by group, topic, partition" %}
with stored as (
  select *, row_number() over in_order - 1 as place, count(*) over ({{ here }}) as commits,
    coalesce(committed_epoch <=> lag(committed_epoch) over in_order
      and committed_epoch <=> lead(committed_epoch) over in_order, false) as is_between,
    lag(offset) over in_order as before, lead(offset) over in_order as next
  from committed_offsets
  where not is_tombstone and offset is not null
  window in_order as ({{ here }} order by offsets_offset)
),
ends as (
  select *, sum(if(is_between and before is not null and next is not null, 0, 1)) over (
      {{ here }} order by offsets_offset) as end
  from stored
),
chosen as (
  select * from ends
  where (not (is_between and before is not null and next is not null) and end <= 24)
    or place % greatest(1, ceil(commits / 24)) = 0
)
select group, topic, partition, offset, committed_epoch, committed_micros as at_micros,
  count(*) over ({{ here }}) as shown, commits
from chosen
