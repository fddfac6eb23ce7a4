/*
about: Slices of `polls`.
subject: slices
columns:
  worker: whose history or log has it
  member: '`group#incarnation`: `orders#2` is the second one of its group'
  is_intact: the checksums of the values are correct
  seq: of the event in its history
  first_place: of the first record, among those that the poll returned of the partition; from 0
  offset: the first one
  last_offset: inclusive
  records: how many records
  sequence: of the first value
  value: '`producer:sequence` of the first record; one that is not intact is in quotation marks'
*/
{{ slices_of("polls", "worker, group, member, topic, partition, leader_epoch, is_intact, seq,
  first_place, polled_micros") }}
