/*
id: P4
definition: A broker reported another leader epoch than the partition or the record has, or none.
explanation: The kind of a finding is the rule's name in docs/protocol.md.
undecided: the leader's epoch, its log start or the start of an epoch is not known exactly, or no
  replica has the record at the end.
evaluates: every partition that a Metadata response has a leader of, every one of a ListOffsets
  response of a leader, at versions with the epoch, and every offset that `offsetsForTimes` of a
  client returned.
source: KIP-320, Metadata, ListOffsets and API Changes; `Partition.fetchOffsetForTimestamp`.
needs: [wire_calls, leaderships]
optional: [replica_records]
rules: true
*/
with leaders as (
  select distinct topic, partition, leader_epoch as epoch, leader, true as is_of_leader
  from leaderships
),
looked_up as (
  select * from broker_calls where api = 'offsetsForTimes' and offset is not null
),
epochs_there as (
  select {{ call }}, sort_array(collect_set(leader_epoch)) as epochs
  from looked_up join replica_records using (topic, partition)
  where offset between first_offset and last_offset
  group by all
),
listed as (
  select *,
    case
      when asked_timestamp = -1 then known_epoch
      when offset < 0 then -1
      else offset_floor
    end as due
  from leader_calls join due_epochs using ({{ call }})
  where api = 'LIST_OFFSETS' and version >= 4 and error_code = 0 and asked_timestamp >= -2
    and offset is not null
),
responses as (
  select {{ response }}, 'epoch of the leader' as rule,
    format_string('the epoch of leader %s, at most %s', leader, epoch_high) as expected,
    format_string('epoch %s', epoch) as got,
    case
      when coalesce(epoch, -1) < 0 then 'violation'
      when epoch_high is null then 'undecided'
      when epoch > epoch_high or epoch < epoch_low or is_of_leader is null then 'violation'
    end as verdict
  from broker_calls left join leaders using (topic, partition, epoch, leader)
  where api = 'METADATA' and version >= 7 and error_code = 0 and leader >= 0
  union all
  select {{ response }}, 'epoch of an offset',
    format_string('epoch %s of offset %s', due, offset),
    format_string('epoch %s', epoch),
    case
      when coalesce(epoch, -1) < 0 and offset >= 0 then 'violation'
      when due is null or not (is_known or asked_timestamp = -1) then 'undecided'
      when coalesce(epoch, -1) != due then 'violation'
    end
  from listed
  union all
  select {{ response }}, 'epoch of an offset',
    format_string('epoch %s of the record at offset %s', to_json(epochs), offset),
    format_string('epoch %s, by client %s', epoch, client),
    case
      when epochs is null then 'undecided'
      when not coalesce(array_contains(epochs, epoch), false) then 'violation'
    end
  from looked_up left join epochs_there using ({{ call }})
)
select * from responses
