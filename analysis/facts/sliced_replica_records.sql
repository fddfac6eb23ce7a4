/*
about: Slices of `replica_records`.
subject: slices
columns: |
  broker int: the broker of the replica
  topic string
  partition int
  leader_epoch int
  offset bigint: the first one
  last_offset bigint: inclusive
  records bigint: how many records
  producer string
  sequence bigint: of the first value
  value string: `producer:sequence` of the first record; one that is not intact is in quotation
    marks
*/
{{ slices_of("replica_records", "broker, topic, partition, leader_epoch") }}
