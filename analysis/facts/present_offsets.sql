/*
about: Rows of `committed_offsets` in the surviving log, about topics as they are at the end.
subject: positions
kept: false
like: client_offsets
*/
select * except (survives) from all_offsets where survives
