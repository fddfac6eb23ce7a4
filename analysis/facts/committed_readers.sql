/*
about: The plan's groups of which a member reads committed values only.
subject: transactions
kept: false
*/
select group, topic from planned_readers where isolation = 'read_committed'
