{# Verbs of faults that are over when they are proved. Their heal undoes nothing; that of a
   reassignment is another one. So is the kill of a client, which does not return. #}
{% set instant_faults = "'bounce', 'delete records', 'elect preferred', 'elect unclean',
    'expire by order', 'expire transaction', 'fence', 'reassign', 'rebalance', 'recreate',
    'take over', 'upgrade'" %}
{# So long after a partition could be served it has to be: 30 s, and by how much a clock was set
   that may have measured the time. #}
{% set owed_seconds = "30 + :jump_micros / " ~ micros_per_second %}
