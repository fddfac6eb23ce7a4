-- One row per group of returned_reader: where its second member began, and what it committed next.
with returned as (
  select group, max(coalesce(offset < due_offset, false)) as is_reached
  from wire_calls
  join (
    select group, max(offset) as due_offset, min(committed_micros) as due_micros
    from commits
    where member like '%#1' and outcome = 'ok'
    group by all) using (group)
  where api = 'OFFSET_FETCH' and not is_stable and error_code = 0
  group by all
)
select group from returned
