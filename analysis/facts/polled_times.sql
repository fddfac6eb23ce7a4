/*
about: Times in which a member was polled, with no pause of more than 5 s between two polls.
subject: assignments
columns:
  until: when the last of these polls ended
*/
with followed as (
  select *, max(ended_micros) over earlier as before_micros
  from poll_spans
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
