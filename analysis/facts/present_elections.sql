/*
about: The elections of topics as they are at the end.
subject: elections
kept: false
like: elections
*/
with present as (select topic, partition, creation from creations where is_last)
select * from elections left semi join present using (topic, partition, creation)
