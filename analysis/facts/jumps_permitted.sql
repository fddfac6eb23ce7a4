/*
about: 'Events that permit a jump of a group: resets by a policy that leads past records.'
subject: progress
kept: false
columns:
  cause: election, deletion, creation or reset
  number: of an election the leader epoch, of a deletion the new log start, of a creation its
    metadata offset, of a reset the offset to which it led
  words: what it was
  from_offset: the first one that it led past
*/
select group, topic, partition, at_micros, to_offset as number, covers_from as from_offset,
  -- Spark takes a literal as never null, though it is so in a struct that is null.
  if(at_micros is null, null, 'reset') as cause,
  if(at_micros is null, null, coalesce(concat('auto.offset.reset=', policy), 'a seek')) as words
from reset_ranges
where is_jump
