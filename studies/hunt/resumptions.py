"""Each resumption from a committed offset, and how near it came to what KAFKA-19902 reports."""

from pathlib import Path

from analysis.engine.statement_files import expanded
from analysis.facts.trace import Row, Trace

_STATEMENT = Path(__file__).with_name("near_misses.sql")
NEAR_MISSES = {
    "new leader": "the leader had changed since the commit",
    "at the log start": "the committed offset was the log start",
    "epoch gone": "no record of the committed epoch was left in the log",
    "epoch older": "the committed epoch was older than the record's before the offset",
    "epoch newer": "the committed epoch was newer than the record's before the offset",
    "no epoch": "the commit had no epoch",
}
"""How a resumption can come near, and what that means. One may do so in several ways."""


def near_misses(trace: Trace) -> list[Row]:
    """(group, one column for each of NEAR_MISSES, resumptions): how many of each group did.

    A resumption is an assignment of a partition to a member that began with a commit. Where
    the sources leave open what held then, it is not counted as near.
    """
    return trace.ask(expanded(_STATEMENT.read_text(encoding="utf-8"), _STATEMENT))


def column_of(near: str) -> str:
    """Return the column of a near miss."""
    return near.replace(" ", "_")
