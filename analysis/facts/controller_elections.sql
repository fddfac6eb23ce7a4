/*
about: Epochs in which a controller was elected to lead the metadata quorum, except the first.
subject: exercise
kept: false
*/
with epochs as (
  select distinct metadata_epoch from metadata_batches where leader is not null
),
first as (
  select min(metadata_epoch) as first_epoch from epochs
)
select metadata_epoch from epochs cross join first where metadata_epoch > first_epoch
