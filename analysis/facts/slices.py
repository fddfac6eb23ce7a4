"""Records in slices: see `analysis/macros/slices.sql`."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.trace import Trace
from analysis.statements.facts import fact_named

_LOG = ("topic", "partition")

polls = fact_named("sliced_polls")
sends = fact_named("sliced_sends")
acknowledged = fact_named("sliced_acknowledged")
unacknowledged = fact_named("sliced_unacknowledged")
replica_records = fact_named("sliced_replica_records")
cut_records = fact_named("sliced_cut_records")
surviving = fact_named("surviving_records")
edges = fact_named("slice_edges")


def given_at(points: Frame, trace: Trace) -> Frame:
    """Points with each delivery to their group at their offset.

    Adds its leader_epoch, at_micros, member and seq.

    Args:
        points: with group, topic, partition, offset; without these four.
        trace: the run.
    """
    by_offset = polls(trace).selectExpr(
        "group", *_LOG, "offset", "leader_epoch", "polled_micros as at_micros", "member", "seq"
    )
    return points.join(by_offset, on=["group", *_LOG, "offset"], how="inner")


def logged_at(points: Frame, trace: Trace) -> Frame:
    """(topic, partition, offset, leader_epoch): what the surviving log holds at points.

    Args:
        points: with topic, partition, offset.
        trace: the run.
    """
    wanted = points.select(*_LOG, "offset").distinct()
    held = surviving(trace).select(*_LOG, "offset", "leader_epoch")
    return held.join(wanted, on=[*_LOG, "offset"], how="left_semi")


def written_at(points: Frame, trace: Trace) -> Frame:
    """(topic, partition, offset): where a transaction wrote what the surviving log holds.

    Args:
        points: with topic, partition, offset.
        trace: the run.
    """
    wanted = points.select(*_LOG, "offset").distinct()
    values = surviving(trace).join(wanted, on=[*_LOG, "offset"], how="left_semi")
    written = sends(trace).where("transaction is not null").select("value")
    return values.join(written, on="value", how="left_semi").select(*_LOG, "offset").distinct()


def sliced(rows: Frame, trace: Trace, first: str, last: str) -> Frame:
    """Rows of ranges of offsets as rows of slices.

    Args:
        rows: with topic, partition and two columns of offsets.
        trace: the run.
        first: the column of the first offset. `slice_edges` must have what begins a range.
        last: the column of the last one, inclusive. `slice_edges` must have what ends a range.

    Returns:
        All columns, and of the slice `slice_first`, `slice_last` (inclusive) and `records`.
    """
    at = edges(trace)
    begin = at.selectExpr(*_LOG, f"at as {first}", "place as _from")
    end = at.selectExpr(*_LOG, f"at - 1 as {last}", "place as _to")
    each = at.selectExpr(*_LOG, "place as _place", "at as slice_first", "next_at - 1 as slice_last")
    return (
        rows.join(begin, on=[*_LOG, first])
        .join(end, on=[*_LOG, last])
        .withColumn("_place", F.expr("explode(sequence(_from, _to - 1))"))
        .join(each, on=[*_LOG, "_place"])
        .withColumn("records", F.expr("slice_last - slice_first + 1"))
        .drop("_from", "_to", "_place")
    )
