/*
about: Rows of `committed_offsets` about topics as they are at the end.
subject: positions
like: client_offsets
columns:
  survives: whether a replica in the last ISR of its partition holds it, or that is not known
*/
select * from {{ with_survival(of_present_topic("client_offsets", "committed_micros")) }}
