/*
about: The elections of topics as they are at the end.
subject: elections
kept: false
columns: |
  topic string
  partition int
  creation bigint
  topic_id string
  epoch int
  leader int
  kind string: see below
  is_unclean boolean
  permits string: what permits this election to lose records, in words; null if nothing does
  metadata_offset bigint
  at_micros bigint
  isr_before array<int>
  elr_before array<int>
*/
with present as (select topic, partition, creation from creations where is_last)
select * from elections left semi join present using (topic, partition, creation)
