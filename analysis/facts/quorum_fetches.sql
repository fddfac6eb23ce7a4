/*
about: |
  Fetches of the metadata log that its leader accepted in its own epoch, with what the leader's log
  has of the last fetched epoch: see `LeaderEpochFileCache.endOffsetFor`.
subject: quorum_calls
optional: [quorum_samples]
columns:
  floor: the largest epoch of its log that is not above the asked one, else the asked one itself,
    which ends where the log starts
  end_low: where that ends; of the latest one, which grows, where it ended before
  end_high: the same; of the latest one, where it ended at last
*/
with fetches as (
  select * from quorum_calls where api = 'FETCH' and error_code = 0 and leads and is_own
),
epochs as (
  select server as broker, metadata_epoch, min(base_offset) as start, max(last_offset) as last
  from metadata_batches
  group by all
),
logs as (
  select worker, seq, min(start) as log_start, max(last) + 1 as log_end,
    max(metadata_epoch) filter (where metadata_epoch <= asked_epoch) as floor,
    min(start) filter (where metadata_epoch > asked_epoch) as next_start
  from fetches join epochs using (broker)
  where metadata_epoch <= epoch_high
  group by all
),
samples_before as (
  select worker, seq, max(array_max(log_ends)) as end_before
  from fetches join quorum_samples on server = broker and leader_epoch = epoch_high
  where quorum_samples.at_micros <= began_micros
  group by all
)
select {{ response }}, asked_epoch, asked_offset, diverging_epoch, diverging_offset, record_bytes,
  log_start, coalesce(floor, asked_epoch) as floor,
  coalesce(next_start, end_before, 0) as end_low, coalesce(next_start, log_end) as end_high
from fetches
left join logs using (worker, seq)
left join samples_before using (worker, seq)
