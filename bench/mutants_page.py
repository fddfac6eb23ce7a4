"""What `bench.mutants` has judged: the page docs/mutants.md, and reasons for survivors."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import msgspec

from bench.changes import Change
from contract.markdown import table_row

SEED = 19902
OF_EACH_FACT = 3
"""Changes that are drawn of a fact."""
SECONDS_MAX = 30
"""For a changed statement, in a trace."""
PAGE = Path(__file__).resolve().parents[1] / "docs" / "mutants.md"
_REASONS = Path(__file__).with_name("survivors.yml")

_INTRODUCTION = f"""\
# What changes of the checks the exam notices

Made by `make mutants`. Each statement of `analysis/checks` was changed in one place at a time: a
comparison, a bound, AND or OR, a kind of join, a condition or key that is left out, an order, an
edge of a window, a default, a condition of a case. DuckDB judged the exam (`tests/exam`) by
each changed statement.

- Noticed: the findings differ in kind, verdict or place; or the statement fails, or takes more than
  {SECONDS_MAX} s (errors).
- By a verdict: so much that the answer to a question of the exam is wrong, and `make test` fails.
- In words: only causes or evidence differ. Such a change is not noticed.
- Equivalent: it finds the same in every history, by the reason in `bench/survivors.yml`. The
  share is that of the other changes.

`make mutants CHECKS=<check>` prints the changes that were not noticed.

"""
_OF_FACTS = f"""\
## Facts

Of each fact at most {OF_EACH_FACT} changes were drawn (seed {SEED}); the fact and all that reads it
were computed again. Histories that are judged alone are left out.

"""
_SURVIVORS = """\
## Not noticed

By check (or fact), and step of its statement: the words before and after."""


class Outcome(StrEnum):
    """What a change does to the findings."""

    VERDICT = "by a verdict"
    PLACE = "noticed"
    ERROR = "errors"
    WORDS = "in words"
    EQUIVALENT = "equivalent"
    NONE = "not noticed"


_SURVIVED = (Outcome.WORDS, Outcome.NONE)
_COUNTED = (Outcome.PLACE, Outcome.VERDICT, Outcome.ERROR, Outcome.WORDS, Outcome.EQUIVALENT)


class Reason(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Why a change is none: an entry of bench/survivors.yml.

    Attributes:
        of: the check or fact.
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
    """The outcomes of the changes of one check or fact."""

    outcomes: list[tuple[Change, Outcome]] = field(default_factory=list)

    def excuse(self, reasons: Iterable[Reason]) -> list[Reason]:
        """Mark survivors that have a reason as equivalent. Return the reasons that have none."""
        given = {(one.before, one.after): one for one in reasons}
        used = set()
        for index, (change, outcome) in enumerate(self.outcomes):
            words = change.before, change.after
            if words in given and outcome in _SURVIVED:
                self.outcomes[index] = change, Outcome.EQUIVALENT
                used.add(words)
        return [one for words, one in given.items() if words not in used]

    def counts(self) -> Counter[Outcome]:
        """How many changes have each outcome."""
        return Counter(outcome for _, outcome in self.outcomes)


def reasons() -> list[Reason]:
    """Read bench/survivors.yml."""
    return msgspec.yaml.decode(_REASONS.read_bytes(), type=list[Reason])


def table(of: str, judged: Mapping[str, Judged]) -> str:
    """The counts of each check or fact, and of all."""
    head = [of, "changes", *_COUNTED, "share"]
    lines = [table_row(*head), f"|{'---|' * len(head)}"]
    together = Judged([pair for one in judged.values() for pair in one.outcomes])
    for name, one in (*judged.items(), ("all", together)):
        counts = one.counts()
        counts[Outcome.PLACE] += counts[Outcome.VERDICT] + counts[Outcome.ERROR]
        of_all = len(one.outcomes) - counts[Outcome.EQUIVALENT]
        share = f"{counts[Outcome.PLACE] / of_all:.2f}" if of_all else ""
        cells = (str(counts[outcome]) for outcome in _COUNTED)
        lines.append(table_row(name, str(len(one.outcomes)), *cells, share))
    return "\n".join(lines)


def survivors(judged: Mapping[str, Judged]) -> Iterator[str]:
    """Yield lines with the changes that were not noticed, by check or fact."""
    yield _SURVIVORS
    for name, one in judged.items():
        left = [pair for pair in one.outcomes if pair[1] in _SURVIVED]
        if left:
            yield f"\n### {name}\n"
        for change, outcome in left:
            words = " (in words)" if outcome is Outcome.WORDS else ""
            yield f"- {change.step}{words}: `{change.before}` → `{change.after}`"


def page(of_checks: Mapping[str, Judged], of_facts: Mapping[str, Judged]) -> str:
    """The text of docs/mutants.md."""
    parts = [_INTRODUCTION, table("check", of_checks), "\n\n"]
    if of_facts:
        parts += [_OF_FACTS, table("fact", of_facts), "\n\n"]
    return "".join(parts).rstrip() + "\n"
