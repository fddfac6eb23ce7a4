"""What every check found in a trace, whole, and whether two engines found the same."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from analysis.statements.registry import CHECKS
from analysis.statements.trace import Trace
from contract.terms import Check

_REPORTED_CHARACTERS = 300


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

    def judge_check(check: Check) -> Judged:
        judged = Judged(lacks=CHECKS[check].lacks(trace))
        if not judged.lacks:
            with _broken_in(judged):
                outcome = CHECKS[check].judge(trace)
                judged.findings = outcome.findings.collect()
                ((evaluated,),) = outcome.evaluated.tuples()
                judged.evaluated = int(evaluated)
        return judged

    return {str(check): judge_check(check) for check in CHECKS}


@contextmanager
def _broken_in(judged: Judged) -> Iterator[None]:
    """Record the error of a check, so that the others continue; it then differs from its peer."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - any error
        judged.lacks = f"{type(error).__name__}: {error}"[:_REPORTED_CHARACTERS]


def differing(one: Mapping[str, Judged], other: Mapping[str, Judged]) -> list[str]:
    """Return the checks whose findings or evaluated counts differ; rows are compared whole."""
    names = sorted({*one, *other})
    return [name for name in names if _comparable(one.get(name)) != _comparable(other.get(name))]


def _comparable(judged: Judged | None) -> tuple[Any, ...] | None:
    if judged is None:
        return None
    return judged.lacks, judged.evaluated, Counter(map(str, judged.findings))
