{# Verbs of faults that are over when they are proved. Their heal undoes nothing; that of a
   reassignment is another one. So is the kill of a client, which does not return. #}
{% set instant_faults = "'bounce', 'delete records', 'elect preferred', 'elect unclean',
    'expire by order', 'expire transaction', 'fence', 'reassign', 'rebalance', 'recreate',
    'refuse', 'take over', 'upgrade'" %}
{# Verbs of faults that partition a server from the controllers, which fence it, while clients still
   reach it. #}
{% set fencing_cuts = "'cut both', 'cut in', 'cut out', 'cut controllers'" %}
{# The target of a fault as `FaultTarget` has it in words, such as `leader:orders-0 (broker 1)`. #}
{% set target_words = "concat(
    concat_ws(':', target_kind, case
      when size(transactional_ids) > 0 then array_join(transactional_ids, ',')
      when partition is not null then concat(topic, '-', partition)
      when target_kind in ('broker', 'voter') then cast(brokers[0] as string)
      else coalesce(topic, group, worker) end),
    if(size(brokers) > 0, concat(if(size(brokers) = 1, ' (broker ', ' (brokers '),
      array_join(cast(brokers as array<string>), ', '), ')'), ''))" %}
{# So long after a partition could be served it has to be: 30 s, and by how much a clock was set
   that may have measured the time. #}
{% set required_seconds = "30 + :jump_micros / " ~ micros_per_second %}
{# The same of a client, which waits at a silent broker for its own request timeout: then it looks
   for another broker, which may be silent too, and asks that one. #}
{% set required_of_client = "if(may_be_silent and 3 * request_ms > 30000, 3 * request_ms / 1000, 30)
    + :jump_micros / " ~ micros_per_second %}
