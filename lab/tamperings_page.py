"""What `lab.tamperings` has judged: the figures of docs/tamperings.md, and lines about each."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from tests.exam.tamperings.judged import SEED, Outcome
from tests.exam.tamperings.tampering import hidden, runs, tamperings
from website.figures import kept, rendered

NAME = "tamperings"
_TEMPLATE = Path(__file__).with_name("tamperings.md.j2")


class Figures(msgspec.Struct, frozen=True):
    """How many tamperings were judged, noticed, and led to a wrong accusation."""

    judged: int
    noticed: int
    accusing: int


def figures_of(outcomes: Sequence[Outcome]) -> Figures:
    """The figures of all tamperings."""
    return Figures(
        judged=len(outcomes),
        noticed=sum(one.is_noticed for one in outcomes),
        accusing=sum(bool(one.accusers) for one in outcomes),
    )


def part() -> str:
    """The part of docs/tamperings.md that is made."""
    return rendered(
        _TEMPLATE,
        figures=kept(NAME, Figures),
        seed=SEED,
        tamperings=tamperings(),
        runs=runs(),
        hidden=hidden(),
    )


def line(one: Outcome) -> str:
    """What the checks said of one."""
    mark = "noticed" if is_right(one) else "NOT AS EXPECTED"
    what = one.error or ", ".join(_said(one))
    return f"{mark}: {one.tampering.name} ({one.tampering.check}): {what}"


def is_right(one: Outcome) -> bool:
    """Whether it was noticed, and no check accuses anybody wrongly."""
    return one.is_noticed and not one.accusers and not one.error


def _said(one: Outcome) -> Iterator[str]:
    for (check, verdict), count in sorted(one.new.items()):
        yield f"{check} {verdict} ({count})"
    if one.run:
        yield f"{one.seen or 'no check'}, the run: {one.run}"
    if one.accusers:
        yield f"accuses: {', '.join(one.accusers)}"
