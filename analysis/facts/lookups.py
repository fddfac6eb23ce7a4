"""What groups were given, and what the log holds, at given offsets."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts import closeup
from analysis.facts.digests import BUCKET, LOG, with_bucket
from analysis.facts.load import Trace
from analysis.facts.positions import PARTITION
from analysis.facts.stretches import given

_DELIVERY = (*PARTITION, "member", "seq", "at_micros", "leader_epoch")


def deliveries(trace: Trace) -> Frame:
    """All that groups were given, in stretches of one record at least.

    Columns: group, topic, partition, member, seq, at_micros, leader_epoch, first_offset,
    last_offset, first_place.
    """
    single = closeup.polls(trace).select(
        *_DELIVERY[:5],
        F.col("polled_micros").alias("at_micros"),
        "leader_epoch",
        F.col("offset").alias("first_offset"),
        F.col("offset").alias("last_offset"),
        F.col("position_in_poll").alias("first_place"),
    )
    if trace.is_small:
        return single
    settled = given(trace).join(closeup.orderly(trace), on=list(BUCKET), how="left_semi")
    return settled.select(*single.columns).union(single)


def given_at(points: Frame, trace: Trace) -> Frame:
    """Points with each delivery to their group at their offset: its leader_epoch and at_micros.

    Args:
        points: with group, topic, partition, offset; without these two.
        trace: the run.
    """
    told = deliveries(trace).select(*PARTITION, "first_offset", "last_offset", *_DELIVERY[-2:])
    if trace.is_small:
        by_offset = told.drop("last_offset").withColumnRenamed("first_offset", "offset")
        return points.join(by_offset, on=[*PARTITION, "offset"], how="inner")
    return (
        with_bucket(points)
        .join(with_bucket(told, "first_offset"), on=["group", *BUCKET], how="inner")
        .where("offset between first_offset and last_offset")
        .drop("_bucket", "first_offset", "last_offset")
    )


def logged_at(points: Frame, trace: Trace) -> Frame:
    """(topic, partition, offset, leader_epoch): what the surviving log holds at points.

    Args:
        points: with topic, partition, offset.
        trace: the run.
    """
    near = closeup.surviving(trace).select(*LOG, "offset", "leader_epoch")
    if trace.is_small:
        return near
    settled = _settled_at(points.select(*LOG, "offset").distinct(), trace)
    return settled.select(*near.columns).union(near)


def written_at(points: Frame, trace: Trace) -> Frame:
    """(topic, partition, offset): where a transaction wrote what the surviving log holds.

    Args:
        points: with topic, partition, offset.
        trace: the run.
    """
    wanted = points.select(*LOG, "offset").distinct()
    values = closeup.surviving(trace).join(wanted, on=[*LOG, "offset"], how="left_semi")
    written = closeup.sends(trace).where("transaction is not null").select("value")
    near = values.join(written, on="value", how="left_semi").select(*LOG, "offset").distinct()
    if trace.is_small:
        return near
    settled = _settled_at(wanted, trace).where("transaction is not null")
    return settled.select(*near.columns).union(near)


def _settled_at(points: Frame, trace: Trace) -> Frame:
    """Of a large trace, the points in stretches of `closeup.settled` that the log holds."""
    kept = closeup.settled(trace).where("is_kept")
    return (
        with_bucket(points)
        .join(kept, on=list(BUCKET), how="inner")
        .where("offset between first_offset and last_offset")
    )
