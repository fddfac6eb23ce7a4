/*
about: Positions that members reported, and that other sources contradict.
subject: positions
columns:
  kind: how they do
*/
{% set reported =
  "group, member, topic, partition, change, position, given_before, given_next, at_micros" %}
with apart as (
  select *, coalesce(given_before + 1, position) as offset
  from reported_positions
  where position > given_before + 1 and coalesce(given_next > given_before + 1, true)
      and not is_reset_before
    or given_before is null and change = 'assigned' and given_next > position
      and not is_reset_after
),
-- A record of a transaction may be withheld from the member.
withheld as (
  select value from sliced_sends where transaction is not null
),
-- What was written there later, after an election, was not between them then.
passed as (
  select apart.*
  from apart
  join surviving_records using (topic, partition, offset)
  left join timelines using (topic, partition)
  left anti join withheld using (value)
  where {{ was_there("leader_epoch", "offset", "at_micros + :clock_micros") }}
),
ends as (
  select topic, partition, log_end_offset as log_end from log_starts
  union all
  select topic, partition, log_end_offset from samples
  union all
  select topic, partition, last_offset + 1 from cut_batches
  union all
  select topic, partition, last_offset + 1 from acknowledged_sends
  union all
  select topic, partition, last_offset + 1 from deliveries
),
known_ends as (
  select topic, partition, max(log_end) as known_end from ends group by all
),
found as (
  select 'position behind' as kind, {{ reported }} from reported_positions
  where position <= given_before and not is_reset_before
  union all
  -- A member asks for its position when a poll has returned: it is after the records of the poll.
  -- The next delivery may have a lower offset, as after a truncation: then it proves nothing.
  select 'position ahead', {{ reported }} from reported_positions
  where position > given_next and not is_reset_after
    and (position <= next_last or following > next_last and position > following)
  union all
  select 'records between', {{ reported }} from passed
  union all
  select 'beyond the log', {{ reported }}
  from reported_positions join known_ends using (topic, partition)
  where position > known_end
)
select kind, {{ reported }} from found
