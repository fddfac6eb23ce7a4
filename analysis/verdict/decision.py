"""What a scenario expects, against what was found: the verdict of a run."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import msgspec

from contract.checks import Check
from contract.run_folder import Expectation
from contract.verdicts import (
    CheckResult,
    CheckVerdict,
    ExpectationResult,
    Finding,
    FindingVerdict,
    RunVerdict,
    UnexpectedFindings,
)


@dataclass(frozen=True)
class Found:
    """The findings of one check, verdict and group.

    Attributes:
        findings: their count.
        number: that of the first among all findings of the check, from 1.
        first: the first of them.
    """

    check: str
    verdict: FindingVerdict
    group: str | None
    findings: int
    number: int
    first: Finding


def meet(expects: Iterable[Expectation], found: Iterable[Found]) -> list[ExpectationResult]:
    """How far findings meet each expectation of a plan."""
    of_run = list(found)
    return [_met(expectation, of_run) for expectation in expects]


def _met(expectation: Expectation, found: list[Found]) -> ExpectationResult:
    meeting = [one for one in found if _counts_for(one, expectation)]
    seen = {one.group for one in meeting}
    return ExpectationResult(
        check=expectation.check,
        verdict=FindingVerdict(expectation.verdict),
        groups=expectation.groups,
        in_each=expectation.in_each,
        is_optional=expectation.is_optional,
        findings=sum(one.findings for one in meeting),
        seen=sorted(group for group in seen if group is not None),
        is_met=bool(meeting) and (not expectation.in_each or set(expectation.groups) <= seen),
    )


def _counts_for(found: Found, expectation: Expectation) -> bool:
    return (found.check, found.verdict) == (expectation.check, expectation.verdict) and (
        not expectation.groups or found.group in expectation.groups
    )


def unexpected(expects: Iterable[Expectation], found: Iterable[Found]) -> list[UnexpectedFindings]:
    """The violations that no expectation covers, by check and group."""
    covering = list(expects)
    return [
        UnexpectedFindings(
            check=one.check,
            group=one.group,
            findings=one.findings,
            number=one.number,
            first=one.first,
        )
        for one in found
        if one.verdict is FindingVerdict.VIOLATION
        and not any(_counts_for(one, expectation) for expectation in covering)
    ]


def with_expected(
    results: Mapping[Check, CheckResult], expects: Iterable[Expectation], found: Iterable[Found]
) -> dict[Check, CheckResult]:
    """The results with the number of their findings that an expectation covers."""
    covering = list(expects)
    expected: dict[str, Counter[FindingVerdict]] = {}
    for one in found:
        if any(_counts_for(one, expectation) for expectation in covering):
            expected.setdefault(one.check, Counter())[one.verdict] += one.findings
    return {
        check: msgspec.structs.replace(result, expected=dict(expected.get(check, {})))
        for check, result in results.items()
    }


def decide(
    expectations: Iterable[ExpectationResult],
    unexpected: Collection[UnexpectedFindings],
    results: dict[Check, CheckResult],
    *,
    must_judge: Collection[str],
    is_whole: bool,
) -> RunVerdict:
    """fail: a violation that nothing expects; pass: all clear, all expected seen; else undecided.

    Args:
        expectations: of the plan.
        unexpected: the violations that none of them covers.
        results: of every check; one that is undecided leaves no pass.
        must_judge: the checks that must have something to judge.
        is_whole: whether the scenario came to its end, all its faults landed, and no gap leaves the
            run as a whole undecided.
    """
    if unexpected:
        return RunVerdict.FAIL
    is_all_seen = all(one.is_met or one.is_optional for one in expectations)
    is_all_clear = all(
        result.verdict is not CheckVerdict.UNDECIDED
        and (result.verdict is not CheckVerdict.NOT_EVALUABLE or check not in must_judge)
        for check, result in results.items()
    )
    return RunVerdict.PASS if is_whole and is_all_seen and is_all_clear else RunVerdict.UNDECIDED
