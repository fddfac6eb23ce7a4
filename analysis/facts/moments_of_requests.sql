/*
about: Steps of transactions, and responses of brokers to single requests, in words.
subject: moments
kept: false
optional: [transactions, wire_calls]
columns:
  kind: step or response
  worker: whose history has it
  seq: its place there
  producer: of a step
  transaction: likewise
  group: of a response
*/
select at_micros, 'step' as kind, producer as who,
  format_string('%s of transaction %s: %s, %s%s', replace(step, '_', ' '), transaction,
    replace(change, '_', ' '), outcome,
    if(coalesce(error, '') = '', '', format_string(' (%s)', error))) as what,
  worker, seq, producer, transaction, cast(null as string) as group
from transactions
union all
select at_micros, 'response', coalesce(nullif(client, ''), format_string('broker %s', broker)),
  format_string('responds to %s version %s (%s): %s', api, version,
    concat_ws(', ', concat('offset ', cast(asked_offset as string)),
      concat('epoch ', cast(asked_epoch as string)),
      concat('current leader epoch ', cast(current_leader_epoch as string)),
      concat('group ', group), concat('member ', member),
      concat('generation ', cast(generation as string))),
    coalesce(nullif(failure, ''), format_string('error code %s', error_code))),
  worker, seq, null, null, group
from wire_calls
