/*
about: Slices of `polls`.
subject: slices
columns: |
  worker string: whose history or log has it
  group string
  member string: `group#incarnation`: `orders#2` is the second one of its group
  topic string
  partition int
  leader_epoch int
  is_intact boolean: the checksums of the values are correct
  seq bigint: of the event in its history
  first_place int: of the first record, among those that the poll returned of the partition; from 0
  polled_micros bigint
  offset bigint: the first one
  last_offset bigint: inclusive
  records bigint: how many records
  producer string
  sequence bigint: of the first value
  value string: `producer:sequence` of the first record; one that is not intact is in quotation
    marks
*/
{{ slices_of("polls", "worker, group, member, topic, partition, leader_epoch, is_intact, seq,
  first_place, polled_micros") }}
