/*
id: D11
definition: A client did not commit the offset of a partition, though its position had moved.
explanation: >-
  librdkafka leaves a position out that is not greater than the stored commit, by its leader epoch
  first: a group that reads records of older epochs commits nothing, and repeats them; one that
  went back behind its commit skips what lies between. A plain `commit()` promises to commit the
  offsets of the assignment, and `enable.auto.commit` to commit them from time to time: what it
  leaves out is in its log, each position once. With offsets or a message as arguments, a commit is
  not compared, nor is that of auto-commit at a close. A guest commits the position after the last
  record that it was delivered. The log line is in the evidence.
permitted: the application chose the offsets, or the position awaited validation.
undecided: a guest, which does not show what it committed, reports a commit as done that the log of
  the coordinator does not have, and no larger offset is stored.
evaluates: every commit that stored nothing, and every position that a client logged it left out of
  a commit that it makes by itself.
source: confluent_kafka `Consumer.commit`; librdkafka CONFIGURATION.md, `enable.auto.commit`;
  `rd_kafka_fetch_pos_cmp` (librdkafka#1372, librdkafka#4384); KIP-320.
needs: [commits, polls, histories]
evaluated: >-
  select (select count(*) from commits where outcome = 'nothing' or outcome = 'ok' and offset is null)
    + (select count(*) from withheld_commits where is_by_client) as evaluated
cases:
- violation: behind a newer epoch
  when: is_promised and record_epoch >= 0 and stored_epoch > record_epoch
  cause: >-
    {member} {committed} nothing, though its position was {position} (epoch {record_epoch}): offset
    {stored_offset} with epoch {stored_epoch} is stored{logged}
- violation: behind a larger offset
  when: is_promised and stored_offset > position
  cause: >-
    {member} {committed} nothing, though its position was {position} (epoch {record_epoch}): offset
    {stored_offset} with epoch {stored_epoch} is stored{logged}
- undecided: reported and not stored
  when: is_reported
  cause: >-
    {member} reported a commit as done, though its position was {position} and nothing of it is
    stored; offset {stored_offset} with epoch {stored_epoch} is
- permitted: nothing to commit
  cause: >-
    {member} {committed} nothing, though its position was {position} (epoch {record_epoch}): offset
    {stored_offset} with epoch {stored_epoch} is stored{logged}
evidence: member, position, record_epoch, stored_offset, stored_epoch, commit_epoch, log_line
place:
  offset_first: position
  offset_last: position
  at: at_micros
*/
with clients as (
  select distinct worker, client from histories
)
select *,
  is_by_client or is_reported or (client = 'librdkafka' or log_line is not null)
    and commit_epoch = 'record' and manner != 'message' as is_promised,
  case
    when is_by_client then 'by itself committed'
    when is_reported then 'reported a commit as done and committed'
    else 'committed' end as committed,
  if(log_line is null, '', '; it logged that it does not include the position') as logged
from withheld_commits left join clients using (worker)
