"""The figures of docs/reliability.md: what was tried, and what held."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from bench.figures import kept, rendered
from bench.torture.attempt import Area, Record
from bench.torture.classes import CLASSES

NAME = "reliability"
_TEMPLATE = Path(__file__).with_name("reliability.md.j2")


class ClassFigures(msgspec.Struct, frozen=True):
    """A class of attempts: how many were made, and held."""

    name: str
    tried: int
    held: int


class Reliability(msgspec.Struct, frozen=True):
    """All attempts.

    Attributes:
        seed: of all random choices.
        minutes: that they took.
        commits: on which they were made.
        classes: of attempts.
        broken: class, what was tried, and what happened, where something did not hold.
        incomplete: classes of which not all was tried.
        skipped: what could not be tried, and why.
    """

    seed: int
    minutes: int
    commits: list[str]
    classes: list[ClassFigures]
    broken: list[tuple[str, str, str]]
    incomplete: list[str]
    skipped: list[tuple[str, str]]


def figures_of(record: Record, areas: Iterable[Area]) -> Reliability:
    """Return the figures of what was tried, by class in the order of the rows."""
    classes = list(areas)
    made = [one for one in record.attempts() if not one.skipped]
    complete = {name for name, area in record.areas.items() if area.is_complete}
    return Reliability(
        seed=record.seed,
        minutes=round(sum(area.seconds for area in record.areas.values()) / 60),
        commits=sorted({area.git_head[:12] for area in record.areas.values()}),
        classes=[
            ClassFigures(
                name=area.name,
                tried=sum(one.area == area.name for one in made),
                held=sum(one.area == area.name and not one.problem for one in made),
            )
            for area in classes
        ],
        broken=[(one.area, one.tried, one.problem) for one in made if one.problem],
        incomplete=[area.name for area in classes if area.name not in complete],
        skipped=[(one.tried, one.skipped) for one in record.attempts() if one.skipped],
    )


def part(figures: Reliability | None = None) -> str:
    """The part of docs/reliability.md that is made, by default of the figures that are kept.

    What holds, and by what, is as the classes declare it.
    """
    shown = figures or kept(NAME, Reliability)
    return rendered(
        _TEMPLATE,
        figures=shown,
        areas={area.name: area for area in CLASSES},
        tried=sum(one.tried for one in shown.classes),
        held=sum(one.held for one in shown.classes),
        one_line=_one_line,
    )


def _one_line(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
