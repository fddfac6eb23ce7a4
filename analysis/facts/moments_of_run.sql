/*
about: What happened to the run as a whole, in words.
subject: moments
kept: false
optional: [phases, notes, faults, broker_states]
columns:
  kind: phase, note (of the scenario), fault (an injection), heal (its effect was seen, or it is
    healed) or broker
  place: in the metadata log; null of what is not there
*/
with steps as (
  select explode(array(
      struct(injected_micros as at_micros, 'fault' as kind, '%s injected' as step),
      struct(proved_micros as at_micros, 'heal' as kind,
        if(landed, '%s proved: its effect was observed', '%s proved: no effect was observed')
          as step),
      struct(heal_began_micros as at_micros, 'heal' as kind, 'heal of %s begun' as step),
      struct(healed_micros as at_micros, 'heal' as kind, '%s healed' as step))) as one,
    concat(fault, ' ', {{ target_words }}) as name
  from faults
),
states as (
  select *, lag(is_fenced) over (partition by broker order by metadata_offset) as was_fenced
  from broker_states
)
select began_micros as at_micros, 'run' as who, concat(stage, ': ', doing) as what, 'phase' as kind,
  cast(null as bigint) as place
from phases
union all
select at_micros, 'run', concat('note: ', text), 'note', null
from notes
union all
select one.at_micros, 'fault', replace(one.step, '%s', name), one.kind, null
from steps
where one.at_micros is not null
union all
select at_micros, 'controller',
  format_string('broker %s is %s', broker, if(is_fenced, 'fenced', 'unfenced')), 'broker',
  metadata_offset
from states
where not is_fenced <=> was_fenced
