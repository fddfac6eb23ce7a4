/*
about: |
  Stored commits that no client reports: rows of `stored_otherwise`.

  None where a table is missing from which these are found.
subject: gaps
optional: [stored_otherwise]
columns: |
  group string
  topic string
  partition int
  stored_offset bigint
  stored_epoch int
  stored_micros bigint
*/
select * from stored_otherwise where kind is null
