/*
id: G17
definition: A server truncated its metadata log, or not where it departs from that of the leader.
explanation: A log that departs from the leader's is truncated to the end of the largest epoch
  that both have, in as many rounds as it needs. Where it departs is known by its first entry that
  it held just before a fault on its server was healed, and does not hold at the end.
evaluates: every copy of a metadata log that held such entries.
source: KIP-595, Fetch; `RaftLog.truncateToEndOffset`.
needs: [cut_metadata_batches]
evaluated: select count(*) as evaluated from copies
cases:
- undecided: not logged
  when: lowest is null
  cause: >-
    the metadata log of server {server} held epoch {epoch} from offset {departs} to {held_to - 1},
    where it has epochs {coalesce(to_json(epochs_there), '[]')} at the end: its server logged no
    truncation
- permitted: exact
  when: lowest = departs
  cause: >-
    the metadata log of server {server} held epoch {epoch} from offset {departs} to {held_to - 1},
    where it has epochs {coalesce(to_json(epochs_there), '[]')} at the end: truncated to {lowest}
    in {rounds} rounds
- violation: too little
  when: lowest > departs
  cause: >-
    the metadata log of server {server} held epoch {epoch} from offset {departs} to {held_to - 1},
    where it has epochs {coalesce(to_json(epochs_there), '[]')} at the end: truncated to {lowest}
    in {rounds} rounds
- undecided: too much, then less
  when: lowest < final_round
  cause: >-
    the metadata log of server {server} held epoch {epoch} from offset {departs} to {held_to - 1},
    where it has epochs {coalesce(to_json(epochs_there), '[]')} at the end: truncated to {lowest}
    in {rounds} rounds
- violation: too much
  cause: >-
    the metadata log of server {server} held epoch {epoch} from offset {departs} to {held_to - 1},
    where it has epochs {coalesce(to_json(epochs_there), '[]')} at the end: truncated to {lowest}
    in {rounds} rounds
evidence: server, epoch, epochs_there, batches, rounds, lowest
place:
  offset_first: departs
  offset_last: held_to - 1
  at: coalesce(at_micros, taken_micros)
*/
with copies as (
  select server, taken_micros, min(base_offset) as departs, max(last_offset) + 1 as held_to,
    min(metadata_epoch) as epoch, count(*) as batches
  from cut_metadata_batches
  group by all
),
followed as (
  select *, lead(taken_micros) over (partition by server order by taken_micros) as next_micros
  from copies
),
logged as (
  select broker as server, to_offset, at_micros from truncations where topic = '__cluster_metadata'
),
after as (
  select server, taken_micros, to_offset, at_micros,
    coalesce(at_micros >= next_micros, false) as is_after_next
  from followed join logged using (server)
  where at_micros >= taken_micros - :clock_micros
),
marked as (
  select *, min(is_after_next) over (partition by server, taken_micros) as are_all_after_next
  from after
),
-- The rounds before the server's next copy, if there are any.
rounds as (
  select server, taken_micros, min(to_offset) as lowest,
    max_by(to_offset, at_micros) as final_round, count(*) as rounds, min(at_micros) as at_micros
  from marked
  where not is_after_next or are_all_after_next
  group by all
),
at_end as (
  select server, taken_micros, sort_array(collect_set(metadata_epoch)) as epochs_there
  from copies join metadata_batches using (server)
  where base_offset >= departs and base_offset < held_to
  group by all
)
select * from copies
left join rounds using (server, taken_micros)
left join at_end using (server, taken_micros)
