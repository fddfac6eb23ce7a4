/*
about: |
  Times in which a broker was fenced, or in controlled shutdown, after it had been in service.
subject: drawn
optional: [broker_states]
columns:
  until_micros: null of the last one
  is_fenced: else it is in controlled shutdown
*/
with states as (
  select *, max(not is_fenced) over in_log as was_in_service,
    lead(at_micros) over (partition by broker order by metadata_offset) as until_micros
  from broker_states
  window in_log as (partition by broker order by metadata_offset)
)
select broker, at_micros as from_micros, until_micros, is_fenced
from states
where was_in_service and (is_fenced or in_controlled_shutdown)
