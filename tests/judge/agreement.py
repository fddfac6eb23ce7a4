"""What every check found in a trace, whole, and whether two engines found the same."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from typing import Any

import msgspec

from analysis.checks.base import CheckOutcome
from analysis.checks.registry import CHECKS
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.frames import Frame
from analysis.facts.trace import Trace
from contract.checks import Check

_TOLD_CHARACTERS = 300


class Judged(msgspec.Struct):
    """The result of one check.

    Attributes:
        lacks: the reason why it could not judge, or its error; empty if it judged.
        evaluated: the number of judged cases.
        findings: rows with the columns of a finding.
    """

    lacks: str = ""
    evaluated: int = 0
    findings: list[dict[str, Any]] = []


def judge(trace: Trace) -> dict[str, Judged]:
    """Judge with every registered check, as `analysis.verdict.judge`, but return all findings."""
    told = {str(check): Judged(lacks=one.lacks(trace)) for check, one in CHECKS.items()}
    outcomes: dict[str, CheckOutcome] = {}

    def ask(check: Check) -> None:
        name = str(check)
        if told[name].lacks:
            return
        with _broken_in(told[name]):
            outcomes[name] = CHECKS[check].judge(trace)

    def collect(name: str) -> None:
        with _broken_in(told[name]):
            told[name].findings = [dict(row) for row in outcomes[name].findings.collect()]

    trace.engine.each(ask, CHECKS)
    asked = []
    for name, outcome in outcomes.items():
        if isinstance(outcome.evaluated, int):
            told[name].evaluated = outcome.evaluated
        else:
            asked.append(outcome.evaluated.select(F.lit(name).alias("check"), "evaluated"))
    for row in reduce(Frame.union, asked).collect():
        told[row["check"]].evaluated = int(row["evaluated"])
    trace.engine.each(collect, outcomes)
    return told


@contextmanager
def _broken_in(judged: Judged) -> Iterator[None]:
    """Record the error of a check, so that the others continue; it then differs from its peer."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - any error
        judged.lacks = f"{type(error).__name__}: {error}"[:_TOLD_CHARACTERS]


def differing(one: Mapping[str, Judged], other: Mapping[str, Judged]) -> list[str]:
    """Return the checks whose findings or evaluated counts differ; rows are compared whole."""
    names = sorted({*one, *other})
    return [name for name in names if _told(one.get(name)) != _told(other.get(name))]


def _told(judged: Judged | None) -> tuple[Any, ...] | None:
    if judged is None:
        return None
    return judged.lacks, judged.evaluated, Counter(map(str, judged.findings))
