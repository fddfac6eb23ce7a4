"""What each group did after the hazard that a run's parameters name (docs/conformance.md)."""

import msgspec

from analysis.statements.trace import Trace
from contract.conformance import Cell, GroupOutcome, cell_of
from contract.errors import TableError

_NEEDS = ("group_events", "committed_offsets", "polls", "phases")


def cells_of(trace: Trace) -> list[Cell]:
    """The cells of groups whose labels say how they meet it; none if a table is missing."""
    hazard = trace.plan.parameters.get("hazard")
    groups = {group.group: group for group in trace.plan.groups if "meets" in group.labels}
    if hazard is None or not groups or trace.lacks(_NEEDS):
        return []
    try:
        rows = trace.ask("select * from cells order by group")
    except TableError:
        return []
    return [
        cell_of(str(hazard), groups[row["group"]], msgspec.convert(row, GroupOutcome))
        for row in rows
        if row["group"] in groups
    ]
