/*
about: Slices of `cut_records`.
subject: slices
columns:
  broker: the broker of the replica
  taken_micros: when the batch was first observed, on the driver's clock
  offset: the first one
  last_offset: inclusive
  records: how many records
  sequence: of the first value
  value: '`producer:sequence` of the first record; one that is not intact is in quotation marks'
*/
{{ slices_of("cut_records", "broker, topic, partition, leader_epoch, taken_micros") }}
