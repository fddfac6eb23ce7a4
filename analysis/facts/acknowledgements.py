"""Under which leader epoch, and by which broker, a send was acknowledged.

An acknowledgement has an offset, but no epoch. Where the record survived, its batch has it.
Where it was lost, the first of these that applies is reported:

- `seen`: the value stood at that offset in a poll, or stands in any replica, surviving or not, or
  stood in one when a fault on its server ended.
- `truncation`: a single broker that had led the partition truncated its log at or below the offset
  since the value was sent. A record is gone only if its leader's log was truncated, so it was that
  one, in its last leadership that began before the acknowledgement. Of what retention has deleted
  since, only if it led when the acknowledgement came.
- `offset`: the leader in force when the value was sent gave the offset to another record, which
  survived, so the leader before it acknowledged this one.
- `guess`: who led when the acknowledgement came. A zombie's is guessed wrongly.
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts import slices
from analysis.facts.declared import LOG, each
from analysis.facts.leader_epochs import leader_epochs
from analysis.facts.trace import Trace, fact
from contract.table_columns import int32, int32s, int64, string

_LOG = ("topic", "partition")
_SEND = (*_LOG, "offset", "value")
_LEADERSHIP = ("from_micros", "epoch", "broker", "until_micros", "newer_epoch")
"""Structs of these sort by when a leadership began."""
_BROKERS = "transform(_cuts, one -> one.broker)"
_ONLY_BROKER = f"if(array_min({_BROKERS}) = array_max({_BROKERS}), array_min({_BROKERS}), null)"
"""Of `_cuts`; null if there are none, or of several."""


@fact(
    *slices.SENDS,
    int64("log_start"),
    string("known_by", "by what its epoch is known; see the source"),
    int32s(
        "held_by",
        "the brokers whose replicas held it before they were truncated, as far as that was"
        " observed",
    ),
    int32("acknowledged_epoch"),
    int32("acknowledged_by", "the leader"),
    int32("newer_epoch", "that ended its leadership; null if none did"),
    int64("until_micros", "when it ended"),
    int64("truncated_to", "where that leader logged that it truncated it"),
    int64("truncated_micros"),
)
def lost(trace: Trace) -> Frame:
    """Acknowledged sends whose value is not in the surviving log, with who acknowledged them."""
    gone = trace.engine.materialized(
        slices.acknowledged(trace).join(
            slices.surviving(trace), on=[*_LOG, "value"], how="left_anti"
        )
    )
    # When it was sent at the earliest, by any node's clock.
    sent = f"coalesce(intended_micros, answered_micros) - {trace.clock_micros}"
    has_begun = "one.from_micros <= answered_micros"
    # Below the log start a record is missing anyway, so that a truncation proves less: the leader
    # in force at the acknowledgement must have truncated it, after its leadership.
    has_ended = f"first_cut.at_micros >= {{}}.until_micros - {trace.clock_micros}"
    is_cut = (
        f"coalesce(offset >= log_start, true) or led_before = guess and {has_ended.format('guess')}"
    )
    is_cut_too = (
        f"known_by = 'truncation' or known_by = 'seen' and cut_by = leadership.broker"
        f" and {has_ended.format('leadership')}"
    )
    is_seen = (
        f"one.epoch = seen_epoch and one.from_micros <= answered_micros + {trace.clock_micros}"
    )
    had_ended = f"one.until_micros <= {sent} and one.broker >= 0"
    way = (
        "case when seen_epoch is not null then 'seen' when truncation is not null then 'truncation'"
        " when taken_epoch = led_then.epoch and before is not null then 'offset'"
        " when guess is not null then 'guess' end"
    )
    return (
        gone.join(trace.log_bounds.drop("log_end"), on=list(_LOG), how="left")
        .join(_leaderships_of_log(trace), on=list(_LOG), how="left")
        .join(_cuts_of_log(trace), on=list(_LOG), how="left")
        .join(_seen(gone, trace), on=list(_SEND), how="left")
        .join(_taken(trace), on=[*_LOG, "offset"], how="left")
        .selectExpr(
            "*",
            "filter(cuts, one -> one.to_offset <= offset and one.from_micros <= answered_micros"
            f" and one.at_micros >= {sent}) as _cuts",
        )
        .selectExpr("*", f"{_ONLY_BROKER} as cut_by", "array_min(_cuts) as first_cut")
        .selectExpr(
            "*",
            f"array_max(filter(leader_epochs, one -> {is_seen})) as seen",
            f"array_max(filter(leader_epochs, one -> one.broker = cut_by and {has_begun}))"
            " as led_before",
            f"array_max(filter(leader_epochs, one -> {had_ended})) as before",
            f"array_max(filter(leader_epochs, one -> one.from_micros <= {sent})) as led_then",
            f"array_max(filter(leader_epochs, one -> {has_begun})) as guess",
        )
        .selectExpr("*", f"if({is_cut}, led_before, null) as truncation")
        .selectExpr("*", f"{way} as known_by")
        .selectExpr(
            "*",
            "case known_by when 'seen' then seen when 'truncation' then truncation"
            " when 'offset' then before when 'guess' then guess end as leadership",
        )
        .selectExpr(
            "*",
            "coalesce(seen_epoch, leadership.epoch) as acknowledged_epoch",
            "leadership.broker as acknowledged_by",
            "leadership.newer_epoch as newer_epoch",
            "leadership.until_micros as until_micros",
            f"if({is_cut_too}, first_cut.to_offset, null) as truncated_to",
            f"if({is_cut_too}, first_cut.at_micros, null) as truncated_micros",
        )
    )


@fact(
    *LOG,
    *each(int64, "offset last_offset"),
    *each(string, "acks producer"),
    int64("answered_micros"),
    int32("epoch"),
    int32("broker", "the leader"),
    int32("newer_epoch"),
    int64("until_micros", "when its leadership ended"),
)
def survived_late(trace: Trace) -> Frame:
    """Surviving sends that were acknowledged after their epoch's end, beyond the clocks' bound."""
    ended = leader_epochs(trace).where("until_micros is not null")
    kept = slices.surviving(trace).selectExpr(*_SEND, "leader_epoch as epoch")
    return trace.engine.materialized(
        slices.acknowledged(trace)
        .join(kept, on=list(_SEND), how="inner")
        .join(ended, on=[*_LOG, "epoch"], how="inner")
        .where("from_micros <= answered_micros")
        .where(f"answered_micros > until_micros + {trace.clock_micros}")
        .groupBy(*_SEND, "last_offset", "acks", "producer", "answered_micros", "epoch")
        .agg(F.max(F.struct(*_LEADERSHIP)).alias("leadership"))
        .selectExpr(
            "*",
            "leadership.broker as broker",
            "leadership.newer_epoch as newer_epoch",
            "leadership.until_micros as until_micros",
        )
    )


def _leaderships_of_log(trace: Trace) -> Frame:
    """(topic, partition, leader_epochs): an array of structs of _LEADERSHIP."""
    all_leaderships = F.collect_list(F.struct(*_LEADERSHIP)).alias("leader_epochs")
    return trace.engine.materialized(leader_epochs(trace).groupBy(*_LOG).agg(all_leaderships))


def _cuts_of_log(trace: Trace) -> Frame:
    """(topic, partition, cuts): truncations by brokers that had led, by when they came.

    Array of structs (at_micros, to_offset, broker, from_micros: when that leadership began).
    """
    cut = F.struct("at_micros", "to_offset", "broker", "from_micros")
    led = leader_epochs(trace).select(*_LOG, "broker", "from_micros")
    return trace.engine.materialized(
        trace["truncations"]
        .select(*_LOG, "broker", "to_offset", "at_micros")
        .join(led, on=[*_LOG, "broker"], how="inner")
        .groupBy(*_LOG)
        .agg(F.collect_list(cut).alias("cuts"))
    )


def _seen(gone: Frame, trace: Trace) -> Frame:
    """The epoch under which a lost value stood at its offset, in any replica or poll.

    Columns: _SEND, seen_epoch, held_by (the brokers whose replicas were seen to hold it before they
    were truncated).
    """
    return (
        slices.polls(trace)
        .select(*_SEND, "leader_epoch")
        .union(slices.replica_records(trace).select(*_SEND, "leader_epoch"))
        .withColumn("broker", F.lit(None).cast("int"))
        .union(slices.cut_records(trace).select(*_SEND, "leader_epoch", "broker"))
        .join(gone.select(*_SEND), on=list(_SEND), how="left_semi")
        .groupBy(*_SEND)
        .agg(
            F.max("leader_epoch").alias("seen_epoch"),
            F.sort_array(F.collect_set("broker")).alias("held_by"),
        )
        .withColumn("held_by", F.expr("if(size(held_by) > 0, held_by, null)"))
    )


def _taken(trace: Trace) -> Frame:
    """(topic, partition, offset, taken_epoch): the epoch that an offset has in the log."""
    held = slices.surviving(trace)
    return held.groupBy(*_LOG, "offset").agg(F.max("leader_epoch").alias("taken_epoch"))
