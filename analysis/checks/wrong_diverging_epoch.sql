/*
id: P3
definition: A leader missed the divergence of a Fetch, or reported one that its epoch cache lacks.
explanation: The kind of a finding is the rule's name in docs/protocol.md.
undecided: the leader's epoch, its log start, its log end or the start of an epoch is not known
  exactly.
evaluates: every partition of a Fetch with a last fetched epoch that a leader did not refuse
  because of its epoch.
source: KIP-595, Fetch; `Partition.readRecords`.
needs: [wire_calls, leaderships]
rules: true
*/
with ruled as (
  select *,
    case
      when due_epoch < 0 then 'unknown last fetched epoch'
      when asked_offset < log_start then 'below the log start'
      when due_epoch < asked_epoch or due_high < asked_offset then 'divergence'
      else 'no divergence'
    end as rule
  from leader_calls join due_epochs using ({{ call }})
  where api = 'FETCH' and version >= 12 and asked_epoch >= 0
),
due as (
  select *, rule in ('unknown last fetched epoch', 'below the log start') as is_out_of_range,
    rule = 'divergence' as is_diverging,
    coalesce(diverging_epoch, -1) >= 0 as is_told,
    is_due_known and (rule != 'no divergence' or due_low >= asked_offset) as is_decided
  from ruled
),
responses as (
  select {{ response }}, rule,
    case
      when is_out_of_range then 'error 1 (OFFSET_OUT_OF_RANGE)'
      when is_diverging then format_string('diverging epoch %s, end offset %s',
        due_epoch, {{ end_in_words() }})
      else 'no diverging epoch'
    end as expected,
    case
      when error_code != 0 then {{ error_in_words() }}
      when is_told then format_string('diverging epoch %s, end offset %s, %s bytes',
        diverging_epoch, diverging_offset, record_bytes)
      else format_string('no diverging epoch, %s bytes', record_bytes)
    end as got,
    case
      when not is_decided then 'undecided'
      when is_out_of_range then if(error_code = 1, null, 'violation')
      when error_code != 0 or is_told != is_diverging then 'violation'
      when is_diverging and (diverging_epoch != due_epoch or record_bytes > 0
        or not diverging_offset between due_low and coalesce(due_high, diverging_offset))
        then 'violation'
    end as verdict
  from due
)
select * from responses
