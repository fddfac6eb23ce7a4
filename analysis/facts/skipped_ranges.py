"""The records that members went past within a session."""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Column
from analysis.engine.frames import Frame
from analysis.facts.declared import LOG, SLICE, each
from analysis.facts.sessions import ranges_passed
from analysis.facts.slices import sliced
from analysis.facts.trace import Trace, fact
from contract.table_columns import int32, int64, string


@fact(
    *LOG,
    *each(string, "group member kind"),
    *each(int32, "prev_epoch next_epoch"),
    int64("at_micros"),
    *SLICE,
)
def passed(trace: Trace) -> Frame:
    """The offsets of `ranges_passed` in slices."""
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
