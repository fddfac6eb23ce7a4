/*
id: A1
definition: An acknowledged record is not in the surviving log, nor deleted after every group had
  it.
explanation: >-
  Causes: it was truncated (a later epoch started at or below its offset, or the leader that had
  acknowledged it truncated it); it expired unread (below the log start, and a group that reads the
  topic never had it, or no group reads it); it was deleted with its topic (acknowledged before the
  topic was created again); a fault truncated the log; unexplained. A record that was truncated
  first was not deleted. With acks=0 no record is acknowledged. A duplicate is acknowledged without
  an offset, and looked for by its value.
permitted: truncated, by an election between the acknowledgement and the later epoch that permits
  the loss (the fact `elections`), or with acks=1; expired, by retention, by the plan or by
  an order of the run; deleted with its topic; truncated by a fault. The finding names the event.
undecided: an election in between is not known; records of a replica were not decoded; the old
  topic, or with acks=1 a deposed leader, may have acknowledged; a record without an offset, and an
  event since that permits a loss.
evaluates: every acknowledged record.
source: Kafka's documentation, Replication; KIP-101; KIP-966.
needs: [sends, log_starts, epoch_checkpoints, leaderships]
evaluated: >-
  select coalesce(sum(records), 0) as evaluated
  from (select records from acknowledged_sends union all select records from unplaced)
cases:
- permitted: deleted with its topic
  cause: '{loss}, created again at metadata offset {created_at}'
- permitted: truncated
  when: reason = 'election'
  cause: '{loss}; {permitted_by.words}'
- permitted: truncated
  when: reason = 'acks'
  cause: '{loss}; acks={acks} does not wait for replication'
- undecided: truncated
  when: reason = 'unknown election'
  cause: '{loss}'
- undecided: truncated
  when: reason = 'not decoded'
  cause: '{loss}; not all records of this log were decoded'
- violation: truncated
  cause: '{loss}'
- permitted: tail truncated
  cause: '{loss}'
- permitted: expired_unread
  when: reason = 'retention'
  cause: '{loss}'
- undecided: expired_unread
  when: reason = 'not decoded'
  cause: '{loss}; not all records of this log were decoded'
- violation: expired_unread
  cause: '{loss}'
- undecided: unexplained
  when: reason = 'unknown leader'
  cause: '{loss}'
- undecided: unexplained
  when: reason = 'not decoded'
  cause: '{loss}; not all records of this log were decoded'
- violation: unexplained
  cause: '{loss}'
- undecided: without an offset
  when: permit is not null
  cause: >-
    {records} records were acknowledged (acks=all) without an offset, and the log lacks them;
    {permit.words}
  evidence: producer, records, permit
- violation: without an offset
  cause: '{records} records were acknowledged (acks=all) without an offset, and the log lacks them'
  evidence: producer, records, permit
evidence: records, acks, acknowledged_epoch, broker, known_by, held_by, producer, truncated_to,
  truncated_micros, later_epoch, later_start, groups_missed, permitted_by, deletion
summary: |
  with parts as (
    select verdict, acks, sum(records) as lost,
      if(kind = 'truncated' and later_epoch is not null,
        format_string('truncated at epoch %s start %,d%s', later_epoch, later_start,
          if(logs > 1, format_string(' of %s-%s', topic, partition), '')),
        replace(kind, '_', ' ')) as part
    from findings
    cross join (select count(distinct topic, partition) as logs from findings
      where kind != 'without an offset')
    where kind != 'without an offset'
    group by all
  ),
  ranked as (
    select *, row_number() over (partition by verdict, acks order by lost desc, part) as rank
    from parts
  ),
  of_acks as (
    select verdict, acks, sum(lost) as lost, sum(lost) filter (where rank > 4) as more,
      collect_list(struct(rank, format_string('%,d %s', lost, part) as words))
        filter (where rank <= 4) as largest
    from ranked
    group by all
  ),
  lines as (
    select lost, struct(verdict, acks, format_string('%s (acks=%s): %s%s', verdict, acks,
      array_join(transform(array_sort(largest), one -> one.words), '; '),
      if(more > 0, format_string('; %,d more', more), '')) as words) as line
    from of_acks
  )
  select format_string('%,d acknowledged records lost; %s', sum(lost),
    array_join(transform(array_sort(collect_list(line)), one -> one.words), '; ')) as summary
  from lines
  having count(*) > 0
*/
with deleted as (
  select topic, partition, value from lost_acknowledged where offset < log_start
),
had as (
  select topic, partition, value, count(distinct group) as groups_had
  from sliced_polls
  left semi join planned_groups using (group)
  left semi join deleted using (topic, partition, value)
  group by all
),
-- Below the log start a record is missing anyway: an assumed epoch must be certain. A truncation
-- counts there if no newer epoch is known to have started above all that was deleted since.
lost as (
  select * except (truncated_to),
    if(coalesce(offset >= log_start, true) or known_by != 'guess'
      or answered_micros + :clock_micros < until_micros,
      {{ took_over("acknowledged_epoch", "offset") }}, null) as later,
    if(coalesce(offset >= log_start, true) or exists(timeline,
      one -> one.leader_epoch > acknowledged_epoch and coalesce(one.start_low, 0) <= offset),
      truncated_to, null) as truncated_to
  from lost_acknowledged
  left join had using (topic, partition, value)
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
  select topic, partition, created_micros, created_at
  from creations
  where is_last and creation > 0
),
-- A slice is divided where a log lacks records and where a fault truncated all tails.
divided as (
  select *, subscribed - coalesce(groups_had, 0) as missed,
    array_distinct(concat(array(offset), filter(
      concat(array(unmatched_first, unmatched_last + 1),
        coalesce(transform(tails, one -> one.log_end), array())),
      one -> one > offset and one <= last_offset))) as starts
  from {{ with_deletion("permitted", "offset") }}
  left join planned_topics using (topic)
  left join created_again using (topic, partition)
  left join deletion_orders using (topic)
  left join logs_without_records using (topic, partition)
  cross join tails_cut
),
parts as (
  select * except (offset), explode(starts) as offset from divided
),
explained as (
  select * except (last_offset),
    coalesce(array_min(filter(starts, one -> one > offset)) - 1, last_offset) as last_offset,
    case
      when answered_micros <= created_micros + :clock_micros then 'deleted with its topic'
      when later is not null or truncated_to is not null then 'truncated'
      when exists(tails, one -> one.target = concat('replicas:', topic, '-', partition)
        and answered_micros <= one.injected_micros + :clock_micros
        and offset >= coalesce(one.log_end, 0)) then 'tail truncated'
      when coalesce(offset >= log_start, true) then 'unexplained'
      when not coalesce(subscribed > 0 and missed <= 0, false) then 'expired_unread'
    end as kind
  from parts
),
judged as (
  select topic, partition, offset, last_offset, kind, acks, acknowledged_epoch,
    acknowledged_by as broker, known_by, held_by, truncated_to, later.leader_epoch as later_epoch,
    later.start_high as later_start, producer, answered_micros, truncated_micros,
    if(kind = 'expired_unread', missed, null) as groups_missed,
    if(kind = 'truncated', permit, null) as permitted_by,
    if(kind = 'expired_unread', deletion, null) as deletion,
    if(kind = 'deleted with its topic', created_at, null) as created_at,
    case
      when kind = 'truncated' and permit is not null then 'election'
      when kind = 'truncated' and acks != 'all' then 'acks'
      when kind = 'truncated' and is_unreported then 'unknown election'
      when kind = 'expired_unread' and (retention_ms is not null or deletes
        or ordered_micros <= coalesce(deletion.at_micros, ordered_micros)) then 'retention'
      -- The old topic, or a leader that was deposed and then truncated them, may have acknowledged.
      when kind = 'unexplained' and (
        answered_micros <= created_micros + {{ heard_micros }}
        or known_by = 'guess' and acks != 'all' and exists(timeline,
          one -> one.leader_epoch = acknowledged_epoch and one.leader_epoch > 0
            and coalesce(one.start_low, 0) <= offset)) then 'unknown leader'
      when kind in ('truncated', 'expired_unread', 'unexplained')
        and offset between unmatched_first and unmatched_last then 'not decoded'
    end as reason
  from explained
  where kind is not null
),
found as (
  select *, format_string('%s records acknowledged (acks=%s) under epoch %s%s: %s%s%s', records,
    acks, acknowledged_epoch, if(known_by = 'guess', ' (assumed: the epoch at that time)', ''), kind,
    if(truncated_to is null, '',
      format_string(' when broker %s truncated its log to %s', broker, truncated_to)),
    {{ deletion_in_words() }}) as loss
  from {{ spans("judged", "topic, partition, kind, reason, acks, acknowledged_epoch, broker, known_by,
    held_by, truncated_to, later_epoch, later_start, groups_missed, permitted_by, deletion, created_at",
    "min(answered_micros) as at, min(producer) as producer,
    min(truncated_micros) as truncated_micros,") }}
),
unplaced as (
  select * from sliced_unacknowledged where outcome = 'ok' and offset is null and acks = 'all'
),
gone as (
  select topic, partition, producer, min(answered_micros) as at, sum(records) as records
  from unplaced left anti join surviving_records using (topic, partition, value)
  group by all
),
gone_and_why as (
  select gone.*, 'without an offset' as kind,
    min(struct(at_micros, cause, number, words))
      filter (where at_micros + :clock_micros >= at) as permit
  from gone left join permits using (topic, partition)
  group by all
)
-- All rows of both: their kinds differ.
select *
from found full outer join gone_and_why using (topic, partition, kind, producer, at, records)
