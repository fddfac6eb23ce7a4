"""What each group of a story of the scenario `conformance` did (docs/conformance.md)."""

import msgspec

from analysis.statements.trace import Trace
from contract.conformance import SCENARIO, Cell, GroupOutcome, cell_of
from contract.errors import TableError

_NEEDS = ("group_events", "committed_offsets", "polls", "phases")


def cells(trace: Trace) -> list[Cell]:
    """The cell of each group; none of another scenario, or if a table is missing."""
    if trace.plan.scenario != SCENARIO or trace.lacks(_NEEDS):
        return []
    try:
        rows = trace.ask("select * from cells order by group")
    except TableError:
        return []
    groups = {group.group: group for group in trace.plan.groups}
    hazard = str(trace.plan.parameters["hazard"])
    return [
        cell_of(hazard, groups[row["group"]], msgspec.convert(row, GroupOutcome)) for row in rows
    ]
