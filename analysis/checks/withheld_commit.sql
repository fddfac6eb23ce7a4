/*
id: D11
definition: A client did not commit the offset of a partition, though its position had moved.
explanation: >-
  librdkafka leaves a position out that is not greater than the stored commit, by its leader epoch
  first: a group that reads records of older epochs commits nothing, and repeats them; one that
  went back behind its commit skips what lies between. A plain `commit()` promises to commit the
  offsets of the assignment.
permitted: the application chose the offsets, or the position awaited validation.
evaluates: every commit that stored nothing.
source: confluent_kafka `Consumer.commit`; librdkafka `rd_kafka_fetch_pos_cmp` (librdkafka#1372,
  librdkafka#4384); KIP-320.
needs: [commits, polls]
evaluated: select count(*) as evaluated from commits where outcome = 'nothing'
cases:
- violation: behind a newer epoch
  when: is_promised and record_epoch >= 0 and stored_epoch > record_epoch
  cause: >-
    {member} committed nothing, though its position was {position} (epoch {record_epoch}): offset
    {stored_offset} with epoch {stored_epoch} is stored
- violation: behind a larger offset
  when: is_promised and stored_offset > position
  cause: >-
    {member} committed nothing, though its position was {position} (epoch {record_epoch}): offset
    {stored_offset} with epoch {stored_epoch} is stored
- permitted: nothing to commit
  cause: >-
    {member} committed nothing, though its position was {position} (epoch {record_epoch}): offset
    {stored_offset} with epoch {stored_epoch} is stored
evidence: member, position, record_epoch, stored_offset, stored_epoch, commit_epoch
place:
  offset_first: position
  offset_last: position
  at: at_micros
*/
with clients as (
  select group, client from planned_groups
)
select *, client = 'librdkafka' and commit_epoch = 'record' as is_promised
from withheld_commits left join clients using (group)
