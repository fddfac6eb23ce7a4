"""The order in which records were delivered to each member, and where its reading started over.

A member of a group is one incarnation of a consumer (`group#number`). Within it, reading starts
over where the member was assigned or lost the partition, where its client reset it, and where it
raised. The order of records is promised between two such moments only.
"""

from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Column
from analysis.facts.declared import LOG, each
from analysis.statements.facts import fact_named
from contract.table_columns import MEMBER, boolean, int32, int64, string
from contract.tables import MICROS_PER_SECOND

_LOG = ("topic", "partition")
_LIFE = ("worker", "group", "member", *_LOG)
_RUN = (
    *MEMBER,
    *LOG,
    *each(int64, "seq first_offset last_offset"),
    *each(int32, "first_epoch last_epoch"),
    int64("at_micros"),
    int64("prev_seq", "of the run before in that incarnation; null in the first"),
    int64("prev_offset", "its last one"),
    int32("prev_epoch", "likewise"),
    int64("prev_micros"),
)
JUMPS = (
    *_RUN,
    boolean("is_anew", "whether reading started over in between"),
    int64("reset_to", "where a reset put the position; null without one"),
)
_LOG_CLOCK_MICROS = 1000
"""A line of a client's log has its time truncated to milliseconds."""
_RESET_LATE_MICROS = MICROS_PER_SECOND
"""A client may hand over the line about a reset so long after it went on."""
OUTAGE_SECONDS = 2
"""A wait of this length is an outage; a shorter one may be a slow machine."""
STALE_SECONDS = 2
"""A reader that stands so long before a record that was acknowledged reads a stale log."""
_STANDSTILL = (
    *each(string, "group member"),
    *LOG,
    int64("first_offset"),
    int64("since_micros", "its last poll before, or when it was assigned the partition"),
    int64("until_micros", "its last such commit"),
    int64("at_micros", "when it was given the run"),
)


runs = fact_named("session_runs")
moved_back = fact_named("jumps_back")
passed = fact_named("passed_slices")


def on_branch() -> Column:
    """Whether a record's `leader_epoch` fits between those of the records around what was passed.

    One of another branch was appended later, or truncated before.
    """
    return F.expr(
        "(prev_epoch < 0 or leader_epoch >= prev_epoch)"
        " and (next_epoch < 0 or leader_epoch <= next_epoch)"
    )
