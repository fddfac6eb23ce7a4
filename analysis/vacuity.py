"""Whether a verdict rests on checks that had something to judge."""

from collections.abc import Mapping

from contract.checks import Check
from contract.verdicts import CheckResult, CheckVerdict, Finding, FindingVerdict


def vacuous_check(results: Mapping[Check, CheckResult]) -> CheckResult:
    """A planned check evaluated nothing.

    Its kind reports whether the check claims to hold all the same.

    Undecided: always.
    Evaluates: every other planned check.
    Source: a check without anything to evaluate proves nothing.
    """
    found = [_finding(check, result) for check, result in results.items() if result.evaluated == 0]
    return CheckResult(
        verdict=CheckVerdict.UNDECIDED if found else CheckVerdict.HOLDS,
        evaluated=len(results),
        findings=len(found),
        examples=found,
        reason="" if results else "no other check is planned",
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
