/*
about: The events of each partition that permit a loss of records.
subject: permits
columns: |
  topic string
  partition int
  _permits array<struct<at_micros:bigint,cause:string,number:bigint,words:string>>
*/
select topic, partition, collect_list(struct(at_micros, cause, number, words)) as _permits
from permits
group by all
