/*
about: Brokers that were fenced, or shut down, after they had been in service.
subject: exercise
kept: false
*/
with states as (
  select *, is_fenced or in_controlled_shutdown as is_out from broker_states
),
compared as (
  select *, lag(is_out) over (partition by broker order by metadata_offset) as was_out from states
)
select broker, metadata_offset from compared where is_out and not was_out
