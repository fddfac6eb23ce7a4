/*
about: '`sends`, with the number of values in a range.'
subject: deliveries
kept: false
like: sends
columns:
  records: how many values
*/
select *, last_sequence - first_sequence + 1 as records from sends
