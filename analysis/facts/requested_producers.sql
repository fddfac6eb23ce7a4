/*
about: |
  Commit requests whose producer id may have had a newer epoch than the request has. Epochs are
  granted by the test's own InitProducerId requests and to the clients that open transactions.
subject: commit_calls
columns:
  is_old_producer: whether it surely had a newer one before the request
*/
-- A newer epoch may have been granted from `may_from` on, and was granted by `sure_from`.
with grants as (
  select producer_id, producer_epoch as granted_epoch, began_micros as may_from,
    at_micros as sure_from
  from wire_calls
  where api = 'INIT_PRODUCER_ID' and error_code = 0
  union all
  select producer_id, producer_epoch, began_micros - :clock_micros, at_micros + :clock_micros
  from transactions
  where producer_id >= 0 and outcome = 'ok'
)
select {{ commit_call }}, max(sure_from <= began_micros) as is_old_producer
from commit_requests join grants using (producer_id)
where granted_epoch > producer_epoch and may_from <= at_micros
group by all
