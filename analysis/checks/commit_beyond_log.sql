/*
id: D3
definition: The committed offset lay beyond the end of the log at that time.
explanation: Deliveries and the targets of resets lay within the log, unless they were of another
  topic that had the name before; so did what a sample of that epoch had shown. For other offsets,
  the end is that of the leader's next sample in that epoch, else where the epoch ends on the
  surviving branch, else the end of the run.
undecided: none of these ends is known, or an election since is not.
evaluates: every stored commit.
source: 'KIP-320: a position that no broker handed out can only be validated by accident.'
needs: [committed_offsets, leaderships, log_starts, epoch_checkpoints, polls]
evaluated: select count(*) as evaluated from stored_commits
tree: true
cases:
- undecided: unknown end
  when: '`end` is null'
  cause: the log end at the time of the commit is unknown
- violation: of another topic
  when: is_of_former
  cause: the log ended at {end} in epoch {led_epoch}, below the committed offset; the group was
    delivered record {offset - 1} of the topic that had this name before
- permitted: beyond
  when: sampled_end is null and permit is not null
  cause: the log was truncated to {end} since; {permit.words}
- violation: beyond
  cause: the log ended at {end} in epoch {led_epoch}, below the committed offset
  undecided_if: sampled_end is null and is_forked and is_unreported
evidence: end, sampled_end, led_epoch, committed_epoch, permit
place:
  offset_first: offset
  offset_last: offset
  at: committed_micros
*/
with unpolled as (
  select * from stored_commits where polled_micros is null and offset > 0
),
open as (
  select * from {{ with_reset_to("unpolled") }} where reset_cause is null
),
ends as (
  select topic, partition, leader_epoch as led_epoch, at_micros as sampled_micros, log_end_offset
  from {{ of_present_topic("samples", "at_micros") }}
  where broker = leader and log_end_offset >= 0
),
sampled as (
  select {{ commit_key }},
    min_by(log_end_offset, sampled_micros)
      filter (where sampled_micros > committed_micros + :clock_micros) as sampled_end,
    max(log_end_offset) filter (where sampled_micros <= committed_micros) as shown_end
  from open join ends using (topic, partition, led_epoch)
  group by all
),
newest as (
  select topic, partition, max(leader_epoch) as newest_epoch from leaderships group by all
),
placed as (
  select open.*, timeline, log_end, newest_epoch, sampled_end, shown_end,
    {{ fork_then("led_epoch", forever) }} as fork
  from open
  left join sampled using ({{ commit_key }})
  left join timelines using (topic, partition)
  left join log_bounds using (topic, partition)
  left join newest using (topic, partition)
),
ended as (
  select *, fork is not null as is_forked,
    coalesce(sampled_end, fork, if(led_epoch = newest_epoch, log_end, null)) as `end`
  from placed
),
beyond as (
  select * from ended
  where coalesce(`end` < offset, true) and not coalesce(shown_end >= offset, false)
)
select * from {{ with_permit_since("beyond", "`end`") }}
