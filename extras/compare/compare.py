"""Compare the stories of two builds, from their verdicts."""

import os
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from analysis.report.words import wilson
from contract.errors import RunFolderError
from contract.files import SCHEMA, read_described
from contract.nights import Night, PlannedRun
from contract.run_folder import RunFolder, find_runs, has_runs
from contract.verdicts import Verdict
from extras.compare.cells import VERDICT, CellValues, Value, Values, cells_of, values_of
from extras.compare.comparison import (
    Cell,
    Comparison,
    Detectable,
    Outcome,
    Result,
    Side,
    SideOfCell,
    Story,
)
from extras.compare.statistics import (
    ALPHA,
    Family,
    Tested,
    detectable,
    judge_cells,
    smallest_p,
)

_BASES = [step / 20 for step in range(20)]
_VERDICT_FILE = "verdict.json"


@dataclass(frozen=True)
class StoryValues:
    """A story with its values, and the number of its groups that continued."""

    story: Story
    values: Values
    groups: int


def compare(path: Path, night: Night, comparison: Comparison) -> Result:
    """Compare the runs of a comparison's folder, as their verdicts have them."""
    read = [_read(path, run, comparison.sides[run.id]) for run in night.runs]
    return compare_stories(read, comparison)


def compare_stories(read: Sequence[StoryValues], comparison: Comparison) -> Result:
    """Compare stories of two sides."""
    stories = sorted(read, key=lambda story: story.story.side)
    by_side = {side: [story for story in stories if story.story.side is side] for side in Side}
    judged = {
        str(side): sum(story.story.report is not None for story in of_side)
        for side, of_side in by_side.items()
    }
    cells = cells_of(story.values for story in stories)
    varying = [cell for cell in cells if not cell.is_constant]
    a, b = (len(of_side) for of_side in by_side.values())
    family = judge_cells([cell.features() for cell in varying], a, b)
    tests = zip(varying, family.tested, strict=True)
    tested = [_cell(cell, test, first_of_b=a) for cell, test in tests]
    differs = any(cell.differs for cell in tested)
    found = _detectable(a, b, family)
    reason = "" if differs else _reason(judged[Side.A], judged[Side.B], found)
    undecided = Outcome.UNDECIDED if reason else Outcome.SAME
    return Result(
        schema=SCHEMA,
        outcome=Outcome.DIFFERS if differs else undecided,
        reason=reason,
        scenario=comparison.scenario,
        parameters=comparison.parameters,
        builds=comparison.builds,
        stories=[story.story for story in stories],
        judged=judged,
        groups={
            str(side): sum(story.groups for story in of_side) for side, of_side in by_side.items()
        },
        alpha=ALPHA,
        permutations=family.permutations,
        is_exact=family.is_exact,
        constant=len(cells) - len(varying),
        cells=sorted(tested, key=_rank),
        detectable=found,
    )


def _detectable(a: int, b: int, family: Family) -> Detectable:
    if not min(a, b):
        return Detectable(from_none=None, from_any=None)
    return Detectable(
        from_none=detectable(a, b, family, [0.0]), from_any=detectable(a, b, family, _BASES)
    )


def _reason(a: int, b: int, found: Detectable) -> str:
    """Return why no difference could have been found; empty if one could."""
    if min(a, b) and smallest_p(a, b) <= ALPHA:
        if found.from_none is not None:
            return ""
        return (
            f"In {a} stories of A and {b} of B, not even an event in all of one side and none of "
            "the other would have been found, since other cells vary as much by chance. More runs "
            "are needed"
        )
    return (
        f"{a} stories of A and {b} of B were judged. Even if all of one side differed from all of "
        f"the other, the probability of that by chance would be above {ALPHA}: at least 4 of each "
        "are needed"
    )


def _cell(cell: CellValues, test: Tested, *, first_of_b: int) -> Cell:
    event = cell.events()[test.strongest]
    return Cell(
        where=cell.where,
        measure=cell.measure,
        event=event,
        a=_side(cell, cell.stories[:first_of_b], event),
        b=_side(cell, cell.stories[first_of_b:], event),
        p=test.p,
        p_adjusted=test.p_adjusted,
        p_holm=test.p_holm,
        differs=test.p_adjusted <= ALPHA,
    )


def _side(cell: CellValues, stories: list[list[Value]], event: str) -> SideOfCell:
    present = [story for story in stories if story]
    with_event = sum(cell.has_event(story, event) for story in present)
    low, high = wilson(with_event, len(present))
    values = Counter(value for story in present for value in story)
    return SideOfCell(
        values={str(value): count for value, count in sorted(values.items(), key=_by_count)},
        stories=len(present),
        with_event=with_event,
        low=low,
        high=high,
        mean=_mean(present) if cell.is_number and present else None,
    )


def _mean(stories: list[list[Value]]) -> float:
    means = [sum(int(value) for value in story) / len(story) for story in stories]
    return sum(means) / len(means)


def _rank(cell: Cell) -> tuple[float, float, bool, str]:
    """Return the place of a cell: what groups did before the verdicts of checks about it."""
    is_verdict = cell.measure == VERDICT
    return cell.p_adjusted, cell.p, is_verdict, cell.where


def _by_count(counted: tuple[Value, int]) -> tuple[int, str]:
    return -counted[1], str(counted[0])


def _read(path: Path, run: PlannedRun, side: Side) -> StoryValues:
    folders = _folders(path, run)
    verdicts = [_verdict(folder) for folder in folders]
    reports = [folder.report / "index.html" for folder in folders]
    is_judged = bool(verdicts) and None not in verdicts
    words = sorted({str(verdict.verdict) for verdict in verdicts if verdict is not None})
    groups = {
        (index, row.group)
        for index, verdict in enumerate(verdicts)
        for row in (verdict.resumption if verdict is not None else ())
    }
    return StoryValues(
        story=Story(
            run=run.id,
            side=side,
            seed=run.seed,
            parameters=run.parameters,
            verdict=", ".join(words) if is_judged else run.error or "not judged",
            report=os.path.relpath(reports[0], path / "report") if is_judged else None,
        ),
        values=values_of(zip(folders, verdicts, strict=True)),
        groups=len(groups),
    )


def _folders(path: Path, run: PlannedRun) -> list[RunFolder]:
    if run.folder is None or not has_runs(path / run.folder):
        return []
    return find_runs(path / run.folder)


def _verdict(folder: RunFolder) -> Verdict | None:
    with suppress(FileNotFoundError, RunFolderError):
        return read_described(folder.report / _VERDICT_FILE, Verdict)
    return None
