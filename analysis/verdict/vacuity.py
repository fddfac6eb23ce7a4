"""Whether a verdict rests on checks that had something to judge."""

from collections.abc import Collection, Mapping

from contract.checks import Check
from contract.verdicts import CheckResult, CheckVerdict, Finding, FindingVerdict


def vacuous_check(results: Mapping[Check, CheckResult], must_judge: Collection[str]) -> CheckResult:
    """A check that must be judged evaluated nothing, or another one without saying why.

    Its kind reports whether the check claims to hold all the same.
    """
    found = [
        _finding(check, result)
        for check, result in results.items()
        if result.evaluated == 0
        and (check in must_judge or result.verdict is not CheckVerdict.NOT_EVALUABLE)
    ]
    return CheckResult(
        verdict=CheckVerdict.UNDECIDED if found else CheckVerdict.HOLDS,
        evaluated=len(results),
        findings=len(found),
        examples=found,
        reason="" if results else "no other check was judged",
        by_verdict={FindingVerdict.UNDECIDED: len(found)} if found else {},
    )


def _finding(check: Check, result: CheckResult) -> Finding:
    is_claimed = result.verdict in (CheckVerdict.HOLDS, CheckVerdict.PERMITTED)
    return Finding(
        check=str(Check.VACUOUS_CHECK),
        kind="claims to hold" if is_claimed else "judged nothing",
        verdict=FindingVerdict.UNDECIDED,
        topic=None,
        partition=None,
        offset_first=None,
        offset_last=None,
        group=None,
        client=None,
        at=None,
        cause=f"{check}: {result.reason or 'evaluated nothing'}",
        evidence={"check": str(check), "verdict": str(result.verdict)},
    )
