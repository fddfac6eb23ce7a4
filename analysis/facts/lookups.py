"""What groups were given, and what the log holds, at given offsets.

An offset is looked up among slices (`analysis.facts.slices`), which have one for each offset that
commits, positions and resets name.
"""

from analysis.engine.frames import Frame
from analysis.facts import slices
from analysis.facts.positions import PARTITION
from analysis.facts.trace import Trace

_LOG = ("topic", "partition")


def given_at(points: Frame, trace: Trace) -> Frame:
    """Points with each delivery to their group at their offset: its leader_epoch and at_micros.

    Args:
        points: with group, topic, partition, offset; without these two.
        trace: the run.
    """
    by_offset = slices.polls(trace).selectExpr(
        *PARTITION, "offset", "leader_epoch", "polled_micros as at_micros"
    )
    return points.join(by_offset, on=[*PARTITION, "offset"], how="inner")


def logged_at(points: Frame, trace: Trace) -> Frame:
    """(topic, partition, offset, leader_epoch): what the surviving log holds at points.

    Args:
        points: with topic, partition, offset.
        trace: the run.
    """
    wanted = points.select(*_LOG, "offset").distinct()
    held = slices.surviving(trace).select(*_LOG, "offset", "leader_epoch")
    return held.join(wanted, on=[*_LOG, "offset"], how="left_semi")


def written_at(points: Frame, trace: Trace) -> Frame:
    """(topic, partition, offset): where a transaction wrote what the surviving log holds.

    Args:
        points: with topic, partition, offset.
        trace: the run.
    """
    wanted = points.select(*_LOG, "offset").distinct()
    values = slices.surviving(trace).join(wanted, on=[*_LOG, "offset"], how="left_semi")
    written = slices.sends(trace).where("transaction is not null").select("value")
    return values.join(written, on="value", how="left_semi").select(*_LOG, "offset").distinct()
