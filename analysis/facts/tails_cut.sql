/*
about: The faults that truncated the tails of all replicas of a partition, in one row.
subject: elections
kept: false
columns: |
  tails array<struct<topic:string,partition:int,injected_micros:bigint,log_end:bigint>>: records at or above
    log_end are gone from each replica; null where the evidence does not say
*/
select collect_list(struct(topic, partition, injected_micros,
    cast(nullif(regexp_extract(evidence, '"log_end_after": *([0-9]+)', 1), '') as bigint)
      as log_end)) as tails
from faults
where fault = 'cut tails'
