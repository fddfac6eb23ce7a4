"""Deliveries and acknowledged sends as ranges, with their times."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.trace import Trace

_LOG = ("topic", "partition")
_MEMBER = ("worker", "group", "member", *_LOG)


def deliveries(trace: Trace) -> Frame:
    """What groups were delivered: one row for the records of one poll and one leader epoch.

    Columns: worker, group, member, topic, partition, seq, at_micros, leader_epoch, _shift (offset
    less place in the poll, the same for all of it), first_offset, last_offset, first_place,
    last_place, records.
    """
    return trace.shared("deliveries", lambda: _deliveries(trace))


def _deliveries(trace: Trace) -> Frame:
    length = F.expr("last_offset - first_offset")
    shift = (F.col("first_offset") - F.col("first_place")).alias("_shift")
    at = F.col("polled_micros").alias("at_micros")
    return (
        trace["polls"]
        .groupBy(*_MEMBER, "seq", at, "leader_epoch", shift)
        .agg(
            F.min("first_offset").alias("first_offset"),
            F.max("last_offset").alias("last_offset"),
            F.min("first_place").alias("first_place"),
            F.max(F.col("first_place") + length).alias("last_place"),
            F.sum(length + 1).alias("records"),
        )
    )


def delivered_ranges(trace: Trace) -> Frame:
    """All that groups were given, in ranges of one poll, one leader epoch and one producer.

    Columns: group, topic, partition, member, seq, at_micros, leader_epoch, first_offset,
    last_offset, first_place.
    """
    return trace["polls"].selectExpr(
        "group",
        *_LOG,
        "member",
        "seq",
        "polled_micros as at_micros",
        "leader_epoch",
        "first_offset",
        "last_offset",
        "first_place",
    )


def sends(trace: Trace) -> Frame:
    """`sends`, and records: the number of values in a range."""
    return trace["sends"].withColumn("records", F.expr("last_sequence - first_sequence + 1"))


def acknowledged_sends(trace: Trace) -> Frame:
    """All acknowledged sends, as the ranges in which they were sent.

    Columns: producer, topic, partition, transaction, acks, first_sequence, last_sequence,
    first_offset, last_offset, records, intended_micros, answered_micros, written_micros (when a
    value was written by its producer's clock, or else when it was answered).
    """
    return trace.acknowledged.selectExpr(
        "producer",
        *_LOG,
        "transaction",
        "acks",
        "first_sequence",
        "last_sequence",
        "first_offset",
        "last_offset",
        "last_offset - first_offset + 1 as records",
        "intended_micros",
        "answered_micros",
        "coalesce(intended_micros, answered_micros) as written_micros",
    )
