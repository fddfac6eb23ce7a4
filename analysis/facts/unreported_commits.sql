/*
about: |
  Stored commits that no client reports: rows of `stored_otherwise`.

  None where a table is missing from which these are found: what else a run lacks is reported all
  the same.
subject: gaps
none_without: true
columns: |
  group string
  topic string
  partition int
  stored_offset bigint
  stored_epoch int
  stored_micros bigint
*/
select * from stored_otherwise where kind is null
