/*
about: |
  Rows of `histories` with a gap.

  A last line that SIGKILL left incomplete is no gap.
subject: gaps
kept: false
optional: [histories]
*/
select worker, role, events, missing_seqs, torn_lines, malformed_lines, malformed_at
from histories
where missing_seqs > 0 or malformed_lines > 0 or torn_lines > 0 and ended_by_itself
