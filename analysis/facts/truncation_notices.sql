/*
about: |
  What clients reported about positions that are not valid, or that they do not have.

  Resets other than for want of a commit, and exceptions.
subject: resets
kept: false
columns:
  topic: empty or null if an exception names none
  partition: of several the first; all are in its message
  message: of an exception; null of a reset
*/
select group, topic, partition, cast(null as string) as message, at_micros
from client_resets
where cause in ('truncation', 'out_of_range')
union all
select group, topic, partition, message, at_micros
from group_events
where change = 'failed' and exception rlike {{ is_notice }}
