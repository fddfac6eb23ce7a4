/*
about: What happened to the run as a whole, in words.
subject: moments
kept: false
optional: [phases, notes, faults, broker_states]
columns:
  kind: phase, note (of the scenario), fault (an injection), heal (its effect was seen, or it is
    healed) or broker
  place: in the metadata log; null of what is not there
  until_micros: when a phase ended, a fault was healed, or its effect ended; else null
  fault: of a fault, its name and target
  since_micros: of an effect that was seen, since when it held; else null
*/
with effects as (
  -- A restart is proved once the server is back: its effect is the time before.
  select *, fault in ('bounce', 'upgrade') as is_over from faults
),
steps as (
  select explode(array(
      struct(injected_micros as at_micros, 'fault' as kind, '%s injected' as step,
        healed_micros as until_micros, cast(null as bigint) as since_micros),
      struct(proved_micros as at_micros, 'heal' as kind,
        if(landed, '%s proved: its effect was observed', '%s proved: no effect was observed')
          as step,
        if(is_over, proved_micros, coalesce(heal_began_micros, healed_micros)) as until_micros,
        if(is_over, injected_micros, proved_micros) as since_micros),
      struct(heal_began_micros as at_micros, 'heal' as kind, 'heal of %s begun' as step,
        cast(null as bigint) as until_micros, cast(null as bigint) as since_micros),
      struct(healed_micros as at_micros, 'heal' as kind, '%s healed' as step,
        cast(null as bigint) as until_micros, cast(null as bigint) as since_micros))) as one,
    concat(fault, ' ', {{ target_words }}) as name
  from effects
),
states as (
  select *, lag(is_fenced) over (partition by broker order by metadata_offset) as was_fenced
  from broker_states
)
select began_micros as at_micros, 'run' as who, concat(stage, ': ', doing) as what, 'phase' as kind,
  cast(null as bigint) as place, ended_micros as until_micros, cast(null as string) as fault,
  cast(null as bigint) as since_micros
from phases
union all
select at_micros, 'run', concat('note: ', text), 'note', null, null, null, null
from notes
union all
select one.at_micros, 'fault', replace(one.step, '%s', name), one.kind, null,
  one.until_micros, name, one.since_micros
from steps
where one.at_micros is not null
union all
select at_micros, 'controller',
  format_string('broker %s is %s', broker, if(is_fenced, 'fenced', 'unfenced')), 'broker',
  metadata_offset, null, null, null
from states
where not is_fenced <=> was_fenced
