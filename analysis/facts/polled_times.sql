/*
about: |
  Times in which a member was polled, with no pause of more than 5 s between two polls.

  While the process of its worker did not run, it was not polled.
subject: assignments
columns:
  until: when the last of these polls ended
*/
with stopped as (
  select p.*, s.began_micros as stopped_micros, s.ended_micros as resumed_micros
  from poll_spans as p join suspensions as s on s.worker = p.worker
  where s.began_micros < p.ended_micros and s.ended_micros > p.began_micros
),
begun as (
  select worker, seq, group, member, began_micros, ended_micros from stopped
  union
  select worker, seq, group, member, resumed_micros, ended_micros from stopped
),
spans as (
  select group, member, began_micros, ended_micros
  from poll_spans left anti join stopped using (worker, seq)
  union all
  select b.group, b.member, b.began_micros,
    coalesce(min(stopped_micros), max(b.ended_micros)) as ended_micros
  from begun as b left join stopped as s
    on s.worker = b.worker and s.seq = b.seq and s.stopped_micros >= b.began_micros
  group by b.worker, b.seq, b.group, b.member, b.began_micros
  having coalesce(min(stopped_micros), max(b.ended_micros)) > b.began_micros
),
followed as (
  select *, max(ended_micros) over earlier as before_micros
  from spans
  window earlier as (partition by group, member order by began_micros, ended_micros
    rows between unbounded preceding and 1 preceding)
),
numbered as (
  select *, sum(if(coalesce(
    began_micros - before_micros <= {{ 5 * micros_per_second }}, false), 0, 1)) over (
    partition by group, member order by began_micros, ended_micros) as turn
  from followed
)
select group, member, min(began_micros) as since, max(ended_micros) as until
from numbered
group by group, member, turn
