/*
id: G6
definition: A broker acknowledged or served a record under an epoch that was over by then.
explanation: An epoch is over when the controller elects a leader under a newer one. A record is
  served under a fenced epoch if a consumer was delivered it later, and its offset is beyond the
  end of its epoch in the surviving log, and no leader that was elected by then is known to have
  it.
permitted: >-
  the record was acknowledged with acks=0 or acks=1, or the new leader has it: a leader learns of
  the election only later; or the election permits the loss: all in sync were the old leader's.
undecided: >-
  the record was acknowledged with acks=all and is lost, and: it was acknowledged no more than the
  clock bound after the end of its epoch, or its offset is below the log start, or no source
  reports its epoch; or the record was served, and an election is not known.
evaluates: every acknowledged record.
source: AlterPartition needs the controller, so a deposed leader can't commit without those in sync.
needs: [sends, leaderships, log_starts]
evaluated: select coalesce(sum(records), 0) as evaluated from acknowledged_sends
exercised: leader_changes
cases:
- permitted: accepted_by_zombie
  when: reason = 'survived'
  cause: >-
    {records} records were acknowledged (acks={acks}) by broker {broker} under epoch {epoch}, up to
    {seconds_after:.3f} s after epoch {newer_epoch} began; the new leader has them
- undecided: accepted_by_zombie
  when: reason = 'unknown epoch'
  cause: >-
    {records} records were acknowledged (acks={acks}) after a leader change and then lost; the
    epoch of the acknowledgement is not known
- permitted: accepted_by_zombie
  when: reason = 'acks'
  cause: >-
    {records} records were acknowledged (acks={acks}) by broker {broker} under epoch {epoch}, up to
    {seconds_after:.3f} s after epoch {newer_epoch} began; {proof}
- permitted: accepted_by_zombie
  when: reason = 'election'
  cause: >-
    {records} records were acknowledged (acks={acks}) by broker {broker} under epoch {epoch}, up to
    {seconds_after:.3f} s after epoch {newer_epoch} began; {proof}; {permits}
- violation: accepted_by_zombie
  undecided_if: reason = 'unsure'
  cause: >-
    {records} records were acknowledged (acks={acks}) by broker {broker} under epoch {epoch}, up to
    {seconds_after:.3f} s after epoch {newer_epoch} began; {proof}
- permitted: served_by_zombie
  when: permit is not null
  cause: >-
    {records} records were polled up to {seconds_after:.3f} s after epoch {leader_epoch} of broker
    {broker} had ended; the log has later epochs from offset {ends} on; {permit.words}
  evidence: &served records, leader_epoch, broker, ends, seconds_after, permit
- undecided: served_by_zombie
  when: is_unreported
  cause: >-
    {records} records were polled up to {seconds_after:.3f} s after epoch {leader_epoch} of broker
    {broker} had ended; the log has later epochs from offset {ends} on; how the leader was elected
    is not known
  evidence: *served
- violation: served_by_zombie
  cause: >-
    {records} records were polled up to {seconds_after:.3f} s after epoch {leader_epoch} of broker
    {broker} had ended; the log has later epochs from offset {ends} on
  evidence: *served
evidence: records, acks, broker, epoch, newer_epoch, seconds_after, known_by, truncated_to, producer
*/
with first_ends as (
  select topic, partition, min(until_micros) as first_end from leader_epochs group by all
),
lost as (
  select *, coalesce(offset < log_start, false) as is_below_log_start,
    answered_micros >= until_micros - :clock_micros as is_after,
    answered_micros <= until_micros + :clock_micros as is_close
  from lost_acknowledged
  where answered_micros is not null
),
succeeded as (
  select topic, partition, acknowledged_epoch, min_by(permits, epoch) as permits
  from (select distinct topic, partition, acknowledged_epoch from lost)
  join present_elections using (topic, partition)
  where epoch > acknowledged_epoch
  group by all
),
accepted as (
  select topic, partition, offset, last_offset, acks, producer, answered_micros, known_by,
    truncated_to, permits, acknowledged_epoch as epoch, acknowledged_by as broker, newer_epoch,
    until_micros,
    case
      when coalesce(known_by, 'guess') = 'guess' then if(acks = 'all' and not is_below_log_start
        and first_end <= answered_micros + :clock_micros, 'unknown epoch', null)
      when acks != 'all' then if(is_after and not is_close, 'acks', null)
      when is_after and permits is not null and not is_close then 'election'
      when is_after then if(is_close or is_below_log_start, 'unsure', 'lost')
    end as reason
  from lost join first_ends using (topic, partition)
  left join succeeded using (topic, partition, acknowledged_epoch)
  union all
  select topic, partition, offset, last_offset, acks, producer, answered_micros, 'survived', null,
    null, epoch, broker, newer_epoch, until_micros, 'survived'
  from survived_late
),
judged as (
  select topic, partition, offset, last_offset, acks, producer, answered_micros, known_by,
    truncated_to, reason, if(reason = 'election', permits, null) as permits,
    'accepted_by_zombie' as kind,
    if(known_by = 'guess', null, epoch) as epoch,
    if(known_by = 'guess', null, broker) as broker,
    if(known_by = 'guess', null, newer_epoch) as newer_epoch,
    if(known_by = 'guess', null, answered_micros - until_micros) as micros_after
  from accepted
  where reason is not null
),
accepted_by_zombies as (
  select *, case known_by
      when 'truncation' then format_string('lost when it truncated its log to %s', truncated_to)
      when 'offset' then 'lost: their offsets hold other records'
      else 'they are not in the surviving log'
    end as proof
  from {{ spans("judged",
    "topic, partition, kind, reason, permits, acks, epoch, broker, newer_epoch, known_by,"
      ~ " truncated_to",
    "min(answered_micros) as at, max(micros_after) / " ~ micros_per_second ~ " as seconds_after,
    min(producer) as producer,") }}
),
beyond as (
  select * from epochs_read_beyond left join timelines using (topic, partition)
),
permitted as (
  select * from {{ with_permit("beyond", "leader_epoch", "next_epoch", "ends") }}
),
served_by_zombies as (
  select group, topic, partition, 'served_by_zombie' as kind, leader_epoch, ends, broker, permit,
    is_unreported, min(offset) as offset_first, max(last_offset) as offset_last,
    sum(records) as records, min(polled_micros) as at,
    max(polled_micros - until_micros) / {{ micros_per_second }} as seconds_after
  from sliced_polls join permitted using (topic, partition, leader_epoch)
  where offset >= ends and polled_micros > until_micros + :clock_micros
    and not exists(timeline, other -> other.leader_epoch > leader_epoch
      and other.from_micros <= polled_micros + :clock_micros and other.start_low > offset
      and {{ had("other.leader_epoch", "leader_epoch", "offset") }})
  group by all
)
-- All rows of both: their kinds differ.
select * from accepted_by_zombies full outer join served_by_zombies
  using (topic, partition, kind, broker, offset_first, offset_last, records, at, seconds_after)
