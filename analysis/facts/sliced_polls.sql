/*
about: Slices of `polls`.
subject: slices
columns:
  worker: whose history or log has it
  member: '`group#incarnation`: `orders#2` is the second one of its group'
  is_intact: the checksums of the values are correct
  is_of_log: whether the client showed no epoch, and it is that of the batch in the log
  seq: of the event in its history
  first_place: of the first record, among those that the poll returned of the partition; from 0
  offset: the first one
  last_offset: inclusive
  records: how many records
  sequence: of the first value
  value: '`producer:sequence` of the first record; one that is not intact is in quotation marks'
*/
{{ slices_of("polls", "worker, group, member, topic, partition, leader_epoch, is_intact,
  is_of_log, seq, first_place, polled_micros") }}
