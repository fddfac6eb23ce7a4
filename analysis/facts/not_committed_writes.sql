/*
about: Values of transactions that a group which reads committed values is not to be delivered.
subject: transactions
kept: false
*/
select distinct group, topic, partition, value
from transactional_writes join committed_readers using (topic)
where ended_as != 'committed'
