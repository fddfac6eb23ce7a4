"""Records in slices: see `analysis/macros/slices.sql`."""

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
