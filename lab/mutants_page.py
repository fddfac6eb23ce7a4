"""What `lab.mutants` has judged: the figures of docs/mutants.md, and reasons for survivors."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import msgspec

from lab.changes import Change
from website.figures import read_figures, render

SEED = 19902
OF_EACH_FACT = 3
"""Changes that are drawn of a fact."""
SECONDS_MAX = 30
"""For a changed statement, in a trace."""
NAME = "mutants"
_TEMPLATE = Path(__file__).with_name("mutants.md.j2")
_REASONS = Path(__file__).with_name("survivors.yml")


class Outcome(StrEnum):
    """What a change does to the findings."""

    VERDICT = "by a verdict"
    PLACE = "noticed"
    ERROR = "errors"
    WORDS = "in words"
    EQUIVALENT = "equivalent"
    NONE = "not noticed"


_SURVIVED = (Outcome.WORDS, Outcome.NONE)


class Reason(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Why a change is none: an entry of lab/survivors.yml.

    Attributes:
        of: the check, macro or fact.
        before: the changed words, as the page has them.
        after: the same, changed.
        reason: one sentence.
    """

    of: str
    before: str
    after: str
    reason: str


@dataclass
class Judged:
    """The outcomes of the changes of one check, macro or fact."""

    outcomes: list[tuple[Change, Outcome]] = field(default_factory=list)

    def excuse(self, reasons: Iterable[Reason]) -> list[Reason]:
        """Mark survivors that have a reason as equivalent. Return the reasons that have none."""
        given = {(reason.before, reason.after): reason for reason in reasons}
        used = set()
        for index, (change, outcome) in enumerate(self.outcomes):
            words = change.before, change.after
            if words in given and outcome in _SURVIVED:
                self.outcomes[index] = change, Outcome.EQUIVALENT
                used.add(words)
        return [reason for words, reason in given.items() if words not in used]

    def counts(self) -> Counter[Outcome]:
        """How many changes have each outcome."""
        return Counter(outcome for _, outcome in self.outcomes)


def reasons() -> list[Reason]:
    """Read lab/survivors.yml."""
    return msgspec.yaml.decode(_REASONS.read_bytes(), type=list[Reason])


class Counts(msgspec.Struct, frozen=True):
    """How many changes of a check, macro or fact there were, and what they did to the findings."""

    of: str
    changes: int
    noticed: int
    by_a_verdict: int
    errors: int
    in_words: int
    equivalent: int

    @property
    def share(self) -> str:
        """The noticed ones of those that are not equivalent."""
        of_all = self.changes - self.equivalent
        return f"{self.noticed / of_all:.2f}" if of_all else ""


class Mutants(msgspec.Struct, frozen=True):
    """The counts of each check and macro, and of each fact if some were changed."""

    checks: list[Counts]
    macros: list[Counts]
    facts: list[Counts]


def count_outcomes(judged: Mapping[str, Judged]) -> list[Counts]:
    """The counts of each check, macro or fact."""
    rows = []
    for name, result in judged.items():
        counts = result.counts()
        verdict, error = counts[Outcome.VERDICT], counts[Outcome.ERROR]
        noticed = counts[Outcome.PLACE] + verdict + error
        others = counts[Outcome.WORDS], counts[Outcome.EQUIVALENT]
        rows.append(Counts(name, len(result.outcomes), noticed, verdict, error, *others))
    return rows


def together(rows: Iterable[Counts]) -> Counts:
    """The sums of several rows."""
    sums = map(sum, zip(*(msgspec.structs.astuple(row)[1:] for row in rows), strict=True))
    return Counts("all", *sums)


def part(figures: Mutants | None = None) -> str:
    """The part of docs/mutants.md that is made, by default of the figures that are kept."""
    return render(
        _TEMPLATE,
        figures=figures or read_figures(NAME, Mutants),
        together=together,
        of_each_fact=OF_EACH_FACT,
        seed=SEED,
    )


def survivors(judged: Mapping[str, Judged]) -> Iterator[str]:
    """Yield lines with the changes that were not noticed, by check, macro or fact."""
    yield "By check (macro, fact), and step of its statement: the words before and after."
    for name, result in judged.items():
        left = [pair for pair in result.outcomes if pair[1] in _SURVIVED]
        if left:
            yield f"\n### {name}\n"
        for change, outcome in left:
            words = " (in words)" if outcome is Outcome.WORDS else ""
            yield f"- {change.step}{words}: `{change.before}` → `{change.after}`"
