"""The made parts of docs/arbiter.md and arbiter-runs.md, from figures that are kept."""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from bench import figures
from bench.figures import rendered
from contract.errors import UsageError
from contract.markdown import anchor
from contract.outcomes import Manner
from studies.arbiter.figures import Figures, Ran, figures_of
from studies.arbiter.predictions import (
    committed,
    differences,
    predictions,
    resumption,
    said,
    said_commit,
    said_epoch,
)
from studies.arbiter.race import race_rows
from studies.arbiter.rows import HAZARDS, RACE, Row, stories_of
from studies.arbiter.sections import Cell, Section, sections

_NAME = "arbiter"
_RUNS_PAGE = "arbiter-runs.md"
_PREDICTIONS = "../studies/arbiter/predictions.yml"
_TEMPLATES = Path(__file__).parent
_LINKS = 4
"""As many runs of a sentence have a link of their own."""


def keep(folders: Sequence[Path]) -> Path:
    """Keep the figures of the runs below some folders; returns their file.

    Raises:
        UsageError: there is none.
    """
    hazards = list(stories_of(HAZARDS, folders))
    if not hazards:
        raise UsageError("no judged run of commit_hazards there: python -m studies.arbiter run")
    races = list(stories_of(RACE, folders))
    return figures.keep(_NAME, figures_of(hazards, races, [race_rows(one) for one in races]))


def kept() -> Figures:
    """Return the figures that are kept."""
    return figures.kept(_NAME, Figures)


def part() -> str:
    """The part of docs/arbiter.md that is made."""
    return shown(one for one in _sections() if not one.is_detail)


def part_of_runs() -> str:
    """The part of docs/arbiter-runs.md that is made."""
    details = shown(one for one in _sections() if one.is_detail)
    return f"{details}\n\n{shown_runs(kept().runs)}"


@cache
def _sections() -> list[Section]:
    return list(sections(kept()))


def shown(some: Iterator[Section]) -> str:
    """Sections as Markdown; figures lead to their runs."""
    return rendered(_TEMPLATES / "sections.md.j2", sections=list(some), cell=_cell, links=_links)


def shown_runs(runs: Sequence[Ran]) -> str:
    """Every run as Markdown: how to repeat it, and the outcome of each group."""
    return rendered(
        _TEMPLATES / "runs.md.j2", runs=[(run, list(map(_group, run.rows))) for run in runs]
    )


def _group(row: Row) -> Sequence[object]:
    known = predictions()
    epochs, wanted = committed(row, known), resumption(row, known)
    commits = "" if row.manner == Manner.EXTERNAL else said_commit(epochs)
    predicted = "; ".join(filter(None, (commits, said(wanted))))
    return (
        row.hazard.partition("/")[2],
        row.client,
        row.manner,
        row.style,
        row.reset,
        said_epoch(row.committed_epoch),
        f"**{said(row)}**" if differences([row]) else said(row),
        f"[{predicted}]({_PREDICTIONS}#L{wanted.line})",
    )


def _cell(one: Cell) -> str:
    if one.line:
        return f"[{one.text}]({_PREDICTIONS}#L{one.line})"
    return f"[{one.text}]({_run(one.stories[0])})" if one.stories else one.text


def _links(sentence: Cell) -> Iterator[str]:
    """Yield what shows a sentence: a line, some of its runs, and where all are."""
    if sentence.source:
        is_code = sentence.source.startswith("https:")
        yield f"[{'source' if is_code else sentence.source}]({sentence.source})"
    for number, story in enumerate(sentence.stories[:_LINKS], start=1):
        yield f"[{'run' if number == 1 else number}]({_run(story)})"
    if len(sentence.stories) > _LINKS:
        yield f"[all {len(sentence.stories)}]({_RUNS_PAGE}#every-run)"


def _run(story: str) -> str:
    return f"{_RUNS_PAGE}#{anchor(story)}"
