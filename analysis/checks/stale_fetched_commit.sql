/*
id: D13
definition: A coordinator returned an older commit than one that was acknowledged before, or none,
  and no error; or one that was never committed.
explanation: >-
  A response counts if the acknowledged commit was stored under an earlier leader epoch of the
  group's partition of `__consumer_offsets` than the one in which the broker led that was asked, or
  if that broker did not lead; what the coordinator had stored itself is compared by
  `wrong_fetched_commit`. Of a client's read the broker is not known, and every older commit counts.
  A commit was never committed if only replicas out of sync have it; or none does, it was asked for
  and not acknowledged, and no report of an acknowledged one has its offset. Equal responses of one
  broker to one worker are one finding. Newer commits, deletions and what expired count as commits:
  a tombstone is one of none. Offsets of transactions do not count as acknowledged.
permitted: >-
  the broker that was asked had been deposed, and the newer commit is its successor's: no document
  says how long it answers; or an unclean election of that partition came since the commit.
undecided: >-
  the broker of a client's read is not known, and one that had led before may have answered; or
  compaction may have removed the commit that was returned.
evaluates: every response to an OffsetFetch and every read of a client, without an error.
source: >-
  Kafka's documentation, Distribution, Consumer Offset Tracking: a coordinator returns the last
  committed offsets, and an error until it has loaded them; KAFKA-14499, KAFKA-16973: a
  request for stable offsets waits until what was written before is committed.
needs: [committed_offsets, leaderships]
evaluated: >-
  select (select count(*) from commit_requests where api = 'OFFSET_FETCH' and error_code = 0)
    + (select count(*) from offset_reads where error is null) as evaluated
optional: [commit_requests, offset_reads]
exercised: coordinator_changes
cases:
- violation: uncommitted
  permitted_if: permit is not null
  undecided_if: is_compactable
  cause: '{returned}, which was never committed'
- permitted: deposed, stable
  cause: '{returned} when it no longer led; its successor had acknowledged offset {due_offset}'
- permitted: deposed, unstable
  cause: '{returned} when it no longer led; its successor had acknowledged offset {due_offset}'
- violation: stable
  permitted_if: permit is not null
  undecided_if: may_be_deposed
  cause: '{returned}, {after}; offset {due_offset} had been acknowledged before'
- violation: unstable
  permitted_if: permit is not null
  undecided_if: may_be_deposed
  cause: '{returned}, {after}; offset {due_offset} had been acknowledged before'
evidence: worker, broker, offset, epoch, due_offset, due_epoch, led_epoch, responses, seconds,
  is_stable, permit
place:
  offset_first: coalesce(due_offset, offset)
  at: at_micros
*/
with stale as (
  select * from stale_fetches where is_acknowledged or due_offset is null
),
permitted as (
  select *, coalesce(due_offset is null or permit.at_micros <= at_micros + :clock_micros, false)
      as is_permitted
  from {{ with_offsets_permit("stale", "due_micros", "offsets_partition") }}
),
spans as (
  select group, topic, partition, worker, broker, is_stable, offset, epoch, offsets_partition,
    due_offset, due_epoch, due_micros, led_epoch, is_deposed, may_be_deposed, is_compactable,
    min(at_micros) as at_micros, max(at_micros) as last_micros, count(*) as responses,
    min(led_micros) as led_micros, min(permit) filter (where is_permitted) as permit
  from permitted
  group by group, topic, partition, worker, broker, is_stable, offset, epoch, offsets_partition,
    due_offset, due_epoch, due_micros, led_epoch, is_deposed, may_be_deposed, is_compactable
),
named as (
  select *, (last_micros - at_micros) / {{ micros_per_second }} as seconds,
    if(broker is null, 'the coordinator', concat('broker ', cast(broker as string))) as by,
    if(offset < 0, 'no commit', concat('offset ', cast(offset as string))) as got
  from spans
)
select *,
  if(due_offset is null, 'uncommitted', concat(if(is_deposed, 'deposed, ', ''),
    if(is_stable, 'stable', 'unstable'))) as kind,
  format_string('%s returned %s in %s responses over %.1f s', by, got, responses, seconds)
    as returned,
  if(led_micros is null, 'though it had never led', format_string(
    'from %.1f s after it led under epoch %s on',
    (at_micros - led_micros) / {{ micros_per_second }}, led_epoch)) as after
from named
