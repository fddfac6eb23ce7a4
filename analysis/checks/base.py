"""What a check is, and what it counts."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from analysis.checks.cases import Case
from analysis.checks.described import Description, described
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Column, Window
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
    """A check: its id, its function, and the tables that it can't be evaluated without.

    The function's name is the check's, and its docstring the check's definition: see
    `analysis.checks.described`. A check may read other tables, which may be empty, e.g. where
    nothing was reset. If one of these is missing or unreadable, the check raises a `TableError`.

    Attributes:
        id: such as `D1`, its family's letter first (`analysis.checks.described.FAMILIES`); several,
            separated by commas, if it covers several classes of findings.
        judge: the check.
        needs: tables that must have rows; without any there is nothing to judge.
        cases: what it finds: see `analysis.checks.cases`.
        stated_name: of a check that is a statement.
        stated_description: likewise.
    """

    id: str
    judge: Callable[[Trace], CheckOutcome]
    needs: tuple[str, ...]
    cases: Iterable[Case]
    stated_name: Check | None = None
    stated_description: Description | None = None

    @property
    def description(self) -> Description:
        """The check in words."""
        return self.stated_description or described(self.judge)

    @property
    def name(self) -> Check:
        """The check that it is.

        Raises:
            ValueError: `contract.checks` has no check of the function's name.
        """
        return self.stated_name or Check(self.judge.__name__)

    def lacks(self, trace: Trace) -> str:
        """Why a trace can't be judged, by its missing and empty tables; empty if it can."""
        return trace.lacks(self.needs)


def count(rows: Frame) -> Frame:
    """How many rows there are, as one row named `evaluated`."""
    return rows.agg(F.count(F.lit(1)).alias("evaluated"))


def spans(trace: Trace, rows: Frame, *keys: str, **aggregates: Column) -> Frame:
    """Contiguous slices of equal keys as one row each, computed now.

    Args:
        trace: that the slices come from.
        rows: slices (`analysis.facts.slices`) with `offset`, `last_offset` and the keys.
        keys: what must be equal within a span.
        aggregates: further columns of a span.

    Returns:
        The keys, offset_first, offset_last, records (how many offsets that is), aggregates.
    """
    order = Window.partitionBy(*keys).orderBy("offset")
    is_apart = F.coalesce(F.col("offset") > F.lag("last_offset").over(order) + 1, F.lit(True))
    found = (
        rows.withColumn("_apart", is_apart.cast("int"))
        .withColumn("_span", F.sum("_apart").over(order))
        .groupBy(*keys, "_span")
        .agg(
            F.min("offset").alias("offset_first"),
            F.max("last_offset").alias("offset_last"),
            *(column.alias(name) for name, column in aggregates.items()),
        )
        .withColumn("records", F.expr("offset_last - offset_first + 1"))
        .drop("_span")
    )
    return trace.engine.materialized(found)


def members_judged(trace: Trace) -> Frame:
    """How many members were opened: each could have reset."""
    return count(trace["group_events"].where("change = 'opened'"))
