/*
about: |
  How soon acknowledged sends were answered: half of the records of a bin of `sends_over_time`
  within the median, 99 % of them within p99.
subject: drawn
kept: false
columns:
  median: in milliseconds
  p99: likewise
*/
with summed as (
  select *, sum(records) over (partition by acks, bin order by latency_ms) as reached,
    sum(records) over (partition by acks, bin) as records_in_bin
  from sends_over_time
  where outcome = 'ok' and latency_ms is not null
)
select acks, bin, min(latency_ms) filter (where reached >= 0.5 * records_in_bin) as median,
  min(latency_ms) filter (where reached >= 0.99 * records_in_bin) as p99
from summed
group by acks, bin
