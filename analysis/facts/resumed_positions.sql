/*
about: Resets from a position, and assignments that went on at one.
subject: exercise
kept: false
columns: |
  member string
*/
select member from resets where cause != 'no_commit'
union all
select member from group_events where change = 'assigned' and position > 0
