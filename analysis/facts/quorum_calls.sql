/*
about: |
  Requests about the metadata log, with what the controller knew.

  Its epoch has bounds, which hold at some time between the request and its response. It has no
  older one than it led in, had fetched an entry of, or answered with before the request. It has no
  newer one than there was at the response, by the entries of elected leaders, their reports, and
  the responses of controllers.
subject: quorum_calls
optional: [quorum_samples]
columns:
  current_leader_epoch: in the request; of a Vote, the candidate's
  leader: in the response
  epoch: in the response
  is_granted: whether a Vote was
  epoch_low: 'the lower bound of the controller''s epoch; null: unknown'
  epoch_high: the upper one
  is_older: whether current_leader_epoch was older than the controller's epoch
  is_newer: whether it was newer
  is_own: whether current_leader_epoch was the controller's epoch from the request to the response
  leads: whether it leads in epoch_high
  is_voter: whether the request is of a voter; true where it does not say of whom it is
*/
with calls as (
  select {{ response }}, current_leader_epoch, asked_epoch, asked_offset, error_code, leader, epoch,
    diverging_epoch, diverging_offset, record_bytes, began_micros,
    response like '%"voteGranted":true%' as is_granted,
    cast(nullif(regexp_extract(request, '"replicaId":(-?[0-9]+)', 1), '') as int) as replica
  from wire_calls
  where topic = {{ metadata_log }} and response is not null
),
fetching as (
  select leader_epoch, at_micros, explode(voters) as voter, voters, log_ends from quorum_samples
),
proofs as (
  select server as broker, leader_epoch as proved_epoch, at_micros from quorum_samples
  union all
  select voter, leader_epoch, fetching.at_micros
  from fetching join quorum_leaders on metadata_epoch = leader_epoch
  where try_element_at(log_ends, cast(array_position(voters, voter) as int)) > start
  union all
  select broker, epoch, at_micros from calls where epoch >= 0
),
first_proofs as (
  select broker, proved_epoch, min(at_micros) as proved_micros from proofs group by all
),
lowest as (
  select worker, seq, max(proved_epoch) as epoch_low
  from calls join first_proofs using (broker)
  where proved_micros <= began_micros
  group by all
),
epochs as (
  select metadata_epoch as known_epoch, coalesce(at_micros, 0) as known_micros from quorum_leaders
  union all
  select leader_epoch, asked_micros from quorum_samples
  union all
  select epoch, began_micros from calls where epoch >= 0
),
first_epochs as (
  select known_epoch, min(known_micros) as known_micros from epochs group by all
),
highest as (
  select worker, seq, max(known_epoch) as epoch_high
  from calls cross join first_epochs
  where known_micros <= at_micros + :clock_micros
  group by all
),
leaders as (
  select metadata_epoch as epoch_high, max(leader) as led_by from quorum_leaders group by all
),
newest as (
  select max_by(voters, at_micros) as voters from quorum_samples
)
select calls.* except (replica), epoch_low, epoch_high,
  coalesce(current_leader_epoch < epoch_low, false) as is_older,
  coalesce(current_leader_epoch > epoch_high, false) as is_newer,
  coalesce(epoch_low = epoch_high and current_leader_epoch = epoch_low, false) as is_own,
  coalesce(broker = led_by, false) as leads,
  coalesce(replica < 0 or array_contains(voters, replica), true) as is_voter
from calls
left join lowest using (worker, seq)
left join highest using (worker, seq)
left join leaders using (epoch_high)
cross join newest
