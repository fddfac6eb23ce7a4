/*
about: The events of each partition that permit a loss of records.
subject: permits
*/
select topic, partition, collect_list(struct(at_micros, cause, number, words)) as _permits
from permits
group by all
