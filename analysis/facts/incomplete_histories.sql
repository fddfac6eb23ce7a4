/*
about: |
  Rows of `histories` with a gap.

  A last line that SIGKILL left incomplete is no gap.
subject: gaps
kept: false
columns: |
  worker string
  role string
  events bigint
  missing_seqs bigint
  torn_lines bigint
  malformed_lines bigint
  malformed_at string
optional: [histories]
*/
select * from histories
where missing_seqs > 0 or malformed_lines > 0 or torn_lines > 0 and ended_by_itself
