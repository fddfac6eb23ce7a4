/*
about: |
  Positions that an application set, with the first delivery from there.

  Left out are those that something else replaced before that delivery: another one of the
  application, a revocation, a failure, or a later assignment, after which a member of a group goes
  on at the commit.
subject: assignments
columns:
  sought_micros: when the application set it
  position: that it set
  first_offset: of what was delivered next
  first_epoch: its leader epoch
*/
with sought as (
  select group, topic, partition, member, seq as sought_seq, at_micros as sought_micros, position,
    coalesce(generation, -1) as sought_generation
  from group_events
  where change = 'sought' and position >= 0
),
next_given as (
  select group, topic, partition, member, sought_seq, min(struct(seq, first_place, first_offset,
      leader_epoch, at_micros)) as given
  from sought join deliveries using (group, topic, partition, member)
  where seq > sought_seq
  group by all
),
assigned_before as (
  select group, topic, partition, member, min(seq) as first_seq
  from group_events
  where change = 'assigned'
  group by all
),
replaced as (
  select distinct group, topic, partition, member, sought_seq
  from sought
  join next_given using (group, topic, partition, member, sought_seq)
  left join assigned_before using (group, topic, partition, member)
  join (
    select group, topic as of_topic, partition as of_partition, member, seq, change,
      coalesce(generation, -1) as generation
    from group_events) using (group, member)
  where seq > sought_seq and seq < given.seq
    and case
      when change in ('failed', 'closed') then true
      when of_topic != topic or of_partition != partition then false
      when change = 'assigned' then if(generation >= 0 and sought_generation >= 0,
        generation > sought_generation, generation < 0 and first_seq < sought_seq)
      else change in ('sought', 'revoked', 'lost')
    end
)
select group, topic, partition, member, sought_micros, position,
  given.first_offset as first_offset, given.leader_epoch as first_epoch,
  given.at_micros as first_micros
from sought
join next_given using (group, topic, partition, member, sought_seq)
left anti join replaced using (group, topic, partition, member, sought_seq)
