/*
about: Resets from a position, assignments that went on at one, and positions that were set.
subject: exercise
kept: false
*/
select member from resets where cause != 'no_commit'
union all
select member from group_events where change = 'assigned' and position > 0
union all
select member from sought_positions
