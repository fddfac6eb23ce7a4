/*
about: |
  Rows of `lost_acknowledged`, divided where a log lacks records and where a fault truncated tails,
  with what may have removed them.
subject: acknowledgements
kept: false
columns:
  truncated_to: where the leader truncated them, if that explains the loss
  later_epoch: the first one that surely began without them
  permit: the election since that permits it
  is_unreported: whether an election since is not known
  created_micros: when the topic was created again
  created_offset: of that creation, in the metadata log
  is_unread: see `expired_losses`, as the next three; null at or above the log start
  is_tail: whether a fault truncated them
  is_unmatched: whether records there were not decoded
  is_maybe_deposed: whether a leader may have acknowledged them that was deposed by then
*/
-- Below the log start a record is missing anyway: an assumed epoch must be certain. A truncation
-- counts there if no newer epoch is known to have started above all that was deleted since.
with lost as (
  select * except (truncated_to),
    if(coalesce(offset >= log_start, true) or known_by != 'guess'
      or answered_micros + :clock_micros < until_micros,
      {{ took_over("acknowledged_epoch", "offset") }}, null) as later,
    if(coalesce(offset >= log_start, true) or exists(timeline,
      one -> one.leader_epoch > acknowledged_epoch and coalesce(one.start_low, 0) <= offset),
      truncated_to, null) as truncated_to
  from lost_acknowledged
  left join timelines using (topic, partition)
),
ended as (
  select *, coalesce(later.leader_epoch, array_max(filter(timeline,
    one -> one.from_micros <= truncated_micros + :clock_micros)).leader_epoch) as ended_by
  from lost
),
permitted as (
  select * from {{ with_permit("ended", "acknowledged_epoch", "ended_by", "offset") }}
),
created_again as (
  select topic, partition, created_micros, created_offset
  from creations
  where is_last and creation > 0
),
-- In one row. Records at or above log_end are gone from each replica; null: the evidence lacks it.
tails_cut as (
  select collect_list(struct(topic, partition, injected_micros,
      cast(nullif(regexp_extract(evidence, '"log_end_after": *([0-9]+)', 1), '') as bigint)
        as log_end)) as tails
  from faults
  where fault = 'cut tails'
),
-- Batches of a surviving replica have more than its records, or other offsets: what is not among
-- the records there may be in the log.
logs_without_records as (
  select topic, partition,
    min(offset_first) as unmatched_first, max(offset_last) as unmatched_last
  from unmatched_replicas left semi join survivors using (topic, partition, broker)
  where batched >= recorded
  group by all
),
divided as (
  select *, array_distinct(concat(array(offset), filter(
      concat(array(unmatched_first, unmatched_last + 1),
        coalesce(transform(tails, one -> one.log_end), array())),
      one -> one > offset and one <= last_offset))) as starts
  from permitted
  left join expired_losses using (topic, partition, offset, value)
  left join created_again using (topic, partition)
  left join logs_without_records using (topic, partition)
  cross join tails_cut
),
parts as (
  select * except (offset), explode(starts) as offset from divided
)
select topic, partition, offset,
  coalesce(array_min(filter(starts, one -> one > offset)) - 1, last_offset) as last_offset, acks,
  producer, answered_micros, known_by, held_by, acknowledged_epoch, acknowledged_by, truncated_to,
  truncated_micros, later.leader_epoch as later_epoch, later.start_high as later_start, permit,
  is_unreported, created_micros, created_offset, is_unread, groups_missed, is_planned, deletion,
  exists(tails, one -> (one.topic, one.partition) = (topic, partition)
    and answered_micros <= one.injected_micros + :clock_micros
    and offset >= coalesce(one.log_end, 0)) as is_tail,
  coalesce(offset between unmatched_first and unmatched_last, false) as is_unmatched,
  known_by = 'guess' and acks != 'all' and coalesce(exists(timeline,
    one -> one.leader_epoch = acknowledged_epoch and one.leader_epoch > 0
      and coalesce(one.start_low, 0) <= offset), false) as is_maybe_deposed
from parts
