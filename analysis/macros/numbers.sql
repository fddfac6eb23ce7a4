{# Bounds and names that several statements use. #}
{# The coordinator's clock against that of the log, in one broker. #}
{% set commit_clock_micros = 1000 %}
{# A message of an exception by which a client reports a truncation or that it has no offset. #}
{% set is_notice = "'(?i)truncat|out_?of_?range|no_?offset|offset_?reset'" %}
{# Of the states of a partition (`leaderships`): its last ISR; of an empty one, the eligible leader
   replicas, which have all that is committed (KIP-966). #}
{% set last_isr = "max_by(if(size(isr) > 0, isr, elr), metadata_offset)" %}
{# What names a stored commit. #}
{% set commit_key = "group, topic, partition, offsets_partition, offsets_offset" %}
{# Of a row of `committed_offsets` that took effect: offsets that a transaction sent count once its
   commit marker is stored. #}
{% set is_stored = "not is_tombstone and (producer_id is null or producer_id < 0 or marker <=> 'commit')" %}
{# Sorts the commits of a group, as they follow each other in the surviving log. #}
{% set in_log = "struct(offsets_partition, offsets_offset, committed_micros)" %}
