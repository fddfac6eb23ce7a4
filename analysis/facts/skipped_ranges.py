"""The records that members went past within a session."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Column
from analysis.engine.frames import Frame
from analysis.facts.sessions import ranges_passed
from analysis.facts.slices import sliced
from analysis.facts.trace import Trace


def passed(trace: Trace) -> Frame:
    """The offsets of `ranges_passed` in slices.

    Columns: group, member, topic, partition, offset, last_offset, records, kind, prev_epoch,
    next_epoch, at_micros.
    """
    return trace.shared("passed", lambda: _passed(trace))


def _passed(trace: Trace) -> Frame:
    return (
        sliced(ranges_passed(trace), trace, "gap_first", "gap_last")
        .drop("gap_first", "gap_last")
        .withColumnsRenamed({"slice_first": "offset", "slice_last": "last_offset"})
    )


def on_branch() -> Column:
    """Whether a record's `leader_epoch` fits between those of the records around what was passed.

    One of another branch was appended later, or truncated before.
    """
    return F.expr(
        "(prev_epoch < 0 or leader_epoch >= prev_epoch)"
        " and (next_epoch < 0 or leader_epoch <= next_epoch)"
    )
