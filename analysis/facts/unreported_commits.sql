/*
about: |
  Stored commits that no client reports: rows of `stored_otherwise`.

  None where a table is missing from which these are found.
subject: gaps
optional: [stored_otherwise]
*/
select {{ commit_key }}, stored_offset, stored_epoch, stored_micros
from stored_otherwise
where kind is null
