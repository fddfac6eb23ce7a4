/*
about: Slices of `replica_records`.
subject: slices
columns:
  broker: the broker of the replica
  offset: the first one
  last_offset: inclusive
  records: how many records
  sequence: of the first value
  value: '`producer:sequence` of the first record; one that is not intact is in quotation marks'
*/
{{ slices_of("replica_records", "broker, topic, partition, leader_epoch") }}
