/*
about: |
  Values that were acknowledged without an offset.

  So a duplicate is acknowledged: the log has the value already.
subject: acknowledgements
kept: false
*/
select topic, partition, producer, value, records, answered_micros
from sliced_unacknowledged
where outcome = 'ok' and offset is null and acks = 'all'
