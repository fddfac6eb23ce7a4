/*
about: Slices of acknowledged sends whose value is not in the surviving log.
subject: acknowledgements
like: sliced_acknowledged
*/
select * from sliced_acknowledged left anti join surviving_records using (topic, partition, value)
