/*
about: |
  Marks in the lanes that a timeline always has: of the run and its servers.

  A mark is a span, a moment, or a point of a line that holds until the next one.
subject: drawn
optional: [broker_states, quorum_leaders]
columns:
  place: orders the lanes, and the marks in a lane
  topic: of a lane of a partition, or of a group on one; else null
  group: of a lane of a group; else null
  row: of the lane; null in a lane of values
  nth: orders its rows
  kind: bar, thin (a bar in a bar), line, or a symbol
  name: what the color means; empty where nothing says so
  until_micros: of a bar; null where it did not end
  value: in a lane of values
  label: in a bar
*/
{% set br = "'\n'" %}
with moments as (
  select *, split(what, ': ')[0] as stage, coalesce(fault, '') as name from moments_of_run
),
registered as (
  select *, max(not is_fenced) over in_log as was_in_service,
    lead(at_micros) over (partition by broker order by metadata_offset) as until_micros
  from broker_states
  window in_log as (partition by broker order by metadata_offset)
),
elected as (
  select *, lead(at_micros) over (order by at_micros) as until_micros,
    count(*) over () as elections
  from quorum_leaders
  where at_micros is not null
)
select case kind when 'phase' then 10 when 'note' then 20 when 'fault' then 30 else 31 end as place,
  case kind when 'phase' then 'phases' when 'note' then 'notes' else 'faults' end as lane,
  cast(null as string) as topic, cast(null as int) as partition, cast(null as string) as group,
  name as row, if(kind in ('fault', 'heal'), min(at_micros) over (partition by name), 0) as nth,
  case kind when 'note' then 'diamond' when 'heal' then 'thin' else 'bar' end as kind,
  case kind when 'phase' then stage when 'note' then 'note' when 'fault' then 'injected to healed'
    else '' end as name,
  case kind
    when 'phase' then case stage
      when 'warm up' then 'teal' when 'steady' then 'green' when 'held' then 'red'
      when 'healed' then 'orange' when 'settling' then 'violet' when 'final read' then 'blue'
      else 'grey' end
    when 'note' then 'blue' when 'fault' then 'rose' else 'red' end as color,
  coalesce(since_micros, at_micros) as at_micros, until_micros, cast(null as double) as value,
  case kind when 'phase' then what
    when 'note' then coalesce(nullif(substring(what, 7), ''), 'an empty note')
    when 'heal' then concat(name, {{ br }}, 'its effect holds')
    else concat(name, {{ br }},
      if(until_micros is null, 'not healed within the run', 'healed'))
    end as text,
  if(kind = 'phase', stage, '') as label
from moments
where kind in ('phase', 'note', 'fault') or kind = 'heal' and what like '% proved: %'
union all
select 32, 'faults', null, null, null, name, 0, 'diamond', 'effect observed', 'red', at_micros,
  null, null, concat(name, {{ br }}, 'its effect was observed'), ''
from moments where kind = 'heal' and what like '% proved: %'
union all
select 40, 'active controller', null, null, null, format_string('controller %s', leader), leader,
  'bar', '', 'violet', at_micros, until_micros, null,
  format_string('controller %s leads the quorum in epoch %s', leader, metadata_epoch),
  format_string('epoch %s', metadata_epoch)
from elected where elections > 1
union all
select if(is_fenced, 50, 51), 'brokers out of service', null, null, null,
  format_string('broker %s', broker), broker, 'bar',
  if(is_fenced, 'fenced', 'controlled shutdown'), if(is_fenced, 'grey', 'orange'), at_micros,
  until_micros, null, format_string('broker %s is %s', broker,
    if(is_fenced, 'fenced', 'in controlled shutdown')), ''
from registered
where was_in_service and (is_fenced or in_controlled_shutdown)
  and not until_micros <=> at_micros
