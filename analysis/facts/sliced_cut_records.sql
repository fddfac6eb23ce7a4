/*
about: Slices of `cut_records`.
subject: slices
columns: |
  broker int: the broker of the replica
  topic string
  partition int
  leader_epoch int
  taken_micros bigint: when the batch was first observed, on the driver's clock
  offset bigint: the first one
  last_offset bigint: inclusive
  records bigint: how many records
  producer string
  sequence bigint: of the first value
  value string: `producer:sequence` of the first record; one that is not intact is in quotation
    marks
*/
{{ slices_of("cut_records", "broker, topic, partition, leader_epoch, taken_micros") }}
