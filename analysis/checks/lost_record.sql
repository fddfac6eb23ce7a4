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
undecided: nobody is in sync, and some of the eligible leader replicas have the record, so that the
  next election decides; an election in between is not known; records of a replica were not decoded; the old
  topic, or with acks=1 a deposed leader, may have acknowledged; a record without an offset, and an
  event since that permits a loss.
evaluates: every acknowledged record.
source: Kafka's documentation, Replication; KIP-101; KIP-966.
needs: [sends, log_starts, epoch_checkpoints, leaderships]
optional: [eligible_gaps]
evaluated: >-
  select coalesce(sum(records), 0) as evaluated
  from (select records from acknowledged_sends union all select records from unplaced_sends)
exercised: changed_logs
tree: true
later_epoch: later_epoch
cases:
- permitted: deleted with its topic
  cause: '{loss}, created again at metadata offset {created_offset}'
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
- undecided: not on every eligible leader
  cause: >-
    {records} records acknowledged (acks={acks}) are on brokers {to_json(holders)}, and not on every
    eligible leader replica; nobody is in sync
  evidence: records, acks, holders, producer
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
  with named as (
    select verdict, acks, records, if(kind = 'truncated' and later_epoch is not null,
        format_string('truncated at epoch %s start %,d%s', later_epoch, later_start,
          if(logs > 1, format_string(' of %s-%s', topic, partition), '')),
        replace(kind, '_', ' ')) as name
    from findings
    cross join (
      select count(distinct topic, partition) as logs from findings where acks is not null)
    where acks is not null
  ),
  ranked as (
    select verdict, acks, name, sum(records) as lost,
      row_number() over (partition by verdict, acks order by sum(records) desc, name) as rank
    from named
    group by verdict, acks, name
  ),
  of_acks as (
    select verdict, acks, sum(lost) as lost, sum(lost) filter (where rank > 4) as more,
      collect_list(struct(rank, format_string('%,d %s', lost, name) as words))
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
with explained as (
  select *, case
      when answered_micros <= created_micros + :clock_micros then 'deleted with its topic'
      when later_epoch is not null or truncated_to is not null then 'truncated'
      when is_tail then 'tail truncated'
      when is_unread then 'expired_unread'
      when is_unread is null then 'unexplained'
    end as kind
  from divided_losses
),
judged as (
  select topic, partition, offset, last_offset, kind, acks, acknowledged_epoch,
    acknowledged_by as broker, known_by, held_by, truncated_to, later_epoch, later_start, producer,
    answered_micros, truncated_micros,
    if(kind = 'expired_unread', groups_missed, null) as groups_missed,
    if(kind = 'truncated', permit, null) as permitted_by,
    if(kind = 'expired_unread', deletion, null) as deletion,
    if(kind = 'deleted with its topic', created_offset, null) as created_offset,
    case
      when kind in ('deleted with its topic', 'tail truncated') then null
      when kind = 'truncated' and permit is not null then 'election'
      when kind = 'truncated' and acks != 'all' then 'acks'
      when kind = 'truncated' and is_unreported then 'unknown election'
      when kind = 'expired_unread' and is_planned then 'retention'
      when kind = 'unexplained' and (is_maybe_deposed
        or answered_micros <= created_micros + {{ heard_micros }}) then 'unknown leader'
      when is_unmatched then 'not decoded'
    end as reason
  from explained
  where kind is not null
),
found as (
  select *, format_string('%s records acknowledged (acks=%s) under epoch %s%s: %s%s%s', records,
    acks, acknowledged_epoch, if(known_by = 'guess', ' (assumed: the epoch at that time)', ''),
    kind,
    if(truncated_to is null, '',
      format_string(' when broker %s truncated its log to %s', broker, truncated_to)),
    {{ deletion_in_words() }}) as loss
  from {{ spans("judged", "topic, partition, kind, reason, acks, acknowledged_epoch, broker,
    known_by, held_by, truncated_to, later_epoch, later_start, groups_missed, permitted_by,
    deletion, created_offset", "min(answered_micros) as at, min(producer) as producer,
    min(truncated_micros) as truncated_micros,") }}
),
gone as (
  select topic, partition, producer, min(answered_micros) as at, sum(records) as records
  from unplaced_sends left anti join surviving_records using (topic, partition, value)
  group by all
),
gone_and_why as (
  select gone.*, 'without an offset' as kind,
    min(struct(at_micros, cause, number, words))
      filter (where at_micros + :clock_micros >= at) as permit
  from gone left join permits using (topic, partition)
  group by all
),
parted as (
  select distinct topic, partition, offset, last_offset, holders, acks, producer, answered_micros,
    'not on every eligible leader' as kind
  from eligible_gaps
),
unsettled as (
  select * from {{ spans("parted", "topic, partition, kind, acks, holders",
    "min(answered_micros) as at, min(producer) as producer,") }}
)
-- All rows of the three: their kinds differ.
select *
from found full outer join gone_and_why using (topic, partition, kind, producer, at, records)
full outer join unsettled
  using (topic, partition, kind, producer, at, records, acks, offset_first, offset_last)
