"""What a check is, and what it counts."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from analysis.checks.cases import Case
from analysis.checks.described import Description
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.trace import Trace
from contract.checks import Check


@dataclass(frozen=True)
class CheckOutcome:
    """What a check found.

    Attributes:
        findings: one row each, as `analysis.checks.cases.findings` makes them.
        evaluated: how much there was to judge: a count, or one row with it named `evaluated`.
        summary: all findings in one line, if there is one: at most one row with it named `summary`.
    """

    findings: Frame
    evaluated: Frame | int
    summary: Frame | None = None


@dataclass(frozen=True)
class CheckDefinition:
    """A check: its id, what judges by it, and the tables that it can't be evaluated without.

    A check may read other tables, which may be empty, e.g. where nothing was reset. If one of these
    is missing or unreadable, `judge` raises a `TableError`.

    Attributes:
        id: such as `D1`, its family's letter first (`analysis.checks.described.FAMILIES`); several,
            separated by commas, if it covers several classes of findings.
        judge: what it finds in a trace.
        needs: tables that must have rows; without any there is nothing to judge.
        cases: what it finds: see `analysis.checks.cases`.
        name: the check that it is.
        description: the check in words.
    """

    id: str
    judge: Callable[[Trace], CheckOutcome]
    needs: tuple[str, ...]
    cases: Iterable[Case]
    name: Check
    description: Description

    def lacks(self, trace: Trace) -> str:
        """Why a trace can't be judged, by its missing and empty tables; empty if it can."""
        return trace.lacks(self.needs)


def count(rows: Frame) -> Frame:
    """How many rows there are, as one row named `evaluated`."""
    return rows.agg(F.count(F.lit(1)).alias("evaluated"))
