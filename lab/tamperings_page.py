"""What `lab.tamperings` has judged: the figures of docs/tamperings.md, and lines about each."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from tests.exam.tamperings.judged import SEED, Outcome
from tests.exam.tamperings.tampering import hidden_tamperings, runs, tamperings
from website.figures import read_figures, render

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
        noticed=sum(outcome.is_noticed for outcome in outcomes),
        accusing=sum(bool(outcome.accusers) for outcome in outcomes),
    )


def part() -> str:
    """The part of docs/tamperings.md that is made."""
    return render(
        _TEMPLATE,
        figures=read_figures(NAME, Figures),
        seed=SEED,
        tamperings=tamperings(),
        runs=runs(),
        hidden=hidden_tamperings(),
    )


def line(outcome: Outcome) -> str:
    """What the checks said of one."""
    mark = "noticed" if is_right(outcome) else "NOT AS EXPECTED"
    what = outcome.error or ", ".join(_findings_in_words(outcome))
    return f"{mark}: {outcome.tampering.name} ({outcome.tampering.check}): {what}"


def is_right(outcome: Outcome) -> bool:
    """Whether it was noticed, and no check accuses anybody wrongly."""
    return outcome.is_noticed and not outcome.accusers and not outcome.error


def _findings_in_words(outcome: Outcome) -> Iterator[str]:
    for (check, verdict), count in sorted(outcome.new.items()):
        yield f"{check} {verdict} ({count})"
    if outcome.run:
        yield f"{outcome.seen or 'no check'}, the run: {outcome.run}"
    if outcome.accusers:
        yield f"accuses: {', '.join(outcome.accusers)}"
