/*
about: Slices of `sends`; one that was not acknowledged has no offset, and is a single value.
subject: slices
kept: false
like: sliced_acknowledged
*/
select * from sliced_acknowledged
union all
select * from sliced_unacknowledged
