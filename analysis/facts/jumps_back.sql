/*
about: Rows of `jumps` that go back although reading did not start over.
subject: sessions
kept: false
like: session_jumps
*/
select * from session_jumps
where not is_anew and reset_to is null and first_offset <= prev_offset
