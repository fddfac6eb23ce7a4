/*
about: |
  Every leader epoch that is known, evicted ones too.

  start_low and start_high are the bounds of the epoch's start offset (null: unknown), from_micros
  is when it began (null: unknown), is_kept whether it is of the surviving branch, as far as
  retention left that to be seen; lacked and may_lack are those of `lineages`.
subject: state
columns:
  timeline: in no order
*/
with branched as (
  select topic, partition, leader_epoch, start_low, start_high, from_micros, is_kept,
    coalesce(lacked, cast(array() as array<int>)) as lacked,
    coalesce(may_lack, cast(array() as array<int>)) as may_lack
  from epochs left join lineages using (topic, partition, leader_epoch)
),
compared as (
  select *, last(lacked) over in_log as lacked_at_end,
    collect_list(lacked) over in_log as ever_lacked
  from branched
  window in_log as (partition by topic, partition order by leader_epoch
    rows between unbounded preceding and unbounded following)
)
select topic, partition, collect_list(struct(
    leader_epoch, start_low, start_high, from_micros,
    is_kept and not array_contains(lacked_at_end, leader_epoch) as is_kept,
    exists(ever_lacked, one -> array_contains(one, leader_epoch)) as is_lacked,
    lacked, may_lack)) as timeline
from compared
group by all
