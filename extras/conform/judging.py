"""What each group of a story of the scenario `conformance` did (docs/conformance.md)."""

from pathlib import Path
from typing import Any

import msgspec

from analysis.statements.files import read
from analysis.statements.trace import Trace
from contract.errors import TableError
from extras.conform.vocabulary import GroupOutcome, cell_of

_STATEMENT = Path(__file__).with_name("cells.sql")
_NEEDS = ("group_events", "committed_offsets", "polls", "phases")


def cells(trace: Trace) -> list[dict[str, Any]]:
    """The cell of each group; none if a table is missing."""
    if trace.lacks(_NEEDS):
        return []
    try:
        found = outcomes(trace)
    except TableError:
        return []
    groups = {group.group: group for group in trace.plan.groups}
    hazard = str(trace.plan.parameters["hazard"])
    return [
        msgspec.to_builtins(cell_of(hazard, groups[outcome.group], outcome)) for outcome in found
    ]


def outcomes(trace: Trace) -> list[GroupOutcome]:
    """What the tables show of each group.

    Raises:
        TableError: one of them is missing.
    """
    rows = trace.query(read(_STATEMENT).text, place=_STATEMENT).collect()
    return msgspec.convert(rows, list[GroupOutcome])
