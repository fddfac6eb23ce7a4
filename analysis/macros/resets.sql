{# Rows with end_before and end_after: the ends of the log in the leader's samples before and after
   at_micros, also if clocks were apart. A sample before counts only if no newer leader came
   between: it may have truncated the log.
   rows: a table or step with topic, partition and at_micros; few. #}
{% macro with_log_ends(rows) -%}
(select _moment.*, end_before, end_after
    from {{ rows }} as _moment
    left join (
      select _led.topic, _led.partition, _led.at_micros,
        max_by(log_end_offset, _sample.at_micros) filter (
          where _sample.at_micros <= _led.at_micros - :skew_micros
            and coalesce(leader_epoch >= led_epoch, true)) as end_before,
        min_by(log_end_offset, _sample.at_micros) filter (
          where _sample.at_micros > _led.at_micros + :skew_micros) as end_after
      from (
        select _then.topic, _then.partition, _then.at_micros, max(leader_epoch) as led_epoch
        from (select distinct topic, partition, at_micros from {{ rows }}) as _then
        left join leaderships as _change
          on _change.topic = _then.topic and _change.partition = _then.partition
            and _change.at_micros <= _then.at_micros + :skew_micros
        group by all) as _led
      join {{ of_present_topic("samples", "at_micros") }} as _sample using (topic, partition)
      where log_end_offset >= 0 and broker = leader
      group by all) as _known using (topic, partition, at_micros))
{%- endmacro %}

{# LogTruncationExceptions with the leader epoch of the consumer's position. There are three sources
   of it: the exception reports it; the group was delivered the record before the position; the
   group committed the position with an epoch. known_epoch is that of the first of these sources
   that has one, -1 if none has; asked_epoch is the largest of them, which the client may have
   requested at most, null if none has one.
   raised: a step with rows of `group_events`. #}
{% macro with_position_epochs(raised) -%}
(select _raised.*, greatest(position_epoch, _read_epoch, _stored_epoch) as asked_epoch,
      coalesce(if(position_epoch >= 0, position_epoch, null), _read_epoch, _stored_epoch, -1)
        as known_epoch
    from {{ raised }} as _raised
    left join (
      select _one.group, _one.topic, _one.partition, _one.member, _one.seq,
        max_by(leader_epoch, polled_micros) as _read_epoch
      from {{ raised }} as _one
      join sliced_polls as _given
        on (_given.group, _given.topic, _given.partition, _given.offset)
          = (_one.group, _one.topic, _one.partition, _one.position - 1)
      where leader_epoch >= 0
        and if(_given.member = _one.member, _given.seq < _one.seq, polled_micros <= at_micros)
      group by all) as _read using (group, topic, partition, member, seq)
    left join (
      select _one.group, _one.topic, _one.partition, _one.member, _one.seq,
        max_by(committed_epoch, committed_micros) as _stored_epoch
      from {{ raised }} as _one
      join present_offsets as _commit
        on (_commit.group, _commit.topic, _commit.partition, _commit.offset)
          = (_one.group, _one.topic, _one.partition, _one.position)
      where committed_micros <= at_micros and committed_epoch >= 0
      group by all) as _stored using (group, topic, partition, member, seq))
{%- endmacro %}
