/*
about: The elections of the last creation of each partition.
subject: permits
*/
with permitting as (
  select topic, partition,
    collect_list(struct(at_micros, cause, number, words)) as _elections_permitting
  from permits
  where cause = 'election'
  group by all
),
known as (
  select topic, partition, collect_list(struct(epoch, kind)) as _elections_known
  from present_elections
  group by all
)
select * from known left join permitting using (topic, partition)
