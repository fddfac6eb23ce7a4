"""How many cases a check had in which it could have failed, and whether that is none.

Most checks can fail in everything that they evaluate. Those that name a fact in their header under
`exercised` evaluate more: a run without any leader change evaluates all its records, and yet proves
nothing about what a leader change loses.
"""

from collections.abc import Collection, Mapping

import msgspec

from analysis.statements.registry import CHECKS
from analysis.statements.trace import Trace
from contract.errors import TableError
from contract.files import is_of_storage
from contract.terms import Check
from contract.verdicts import CheckResult, CheckVerdict, Finding, FindingVerdict


def with_exercised(results: Mapping[Check, CheckResult], trace: Trace) -> dict[Check, CheckResult]:
    """Results with how many cases each check had: rows of the fact that it names, or all."""

    def count_exercised(check: Check) -> int:
        fact = CHECKS[check].header.exercised
        if not results[check].evaluated or not fact:
            return results[check].evaluated
        return trace.once(f"rows of {fact}", lambda: _rows(fact, trace))

    return {
        check: msgspec.structs.replace(result, exercised=count_exercised(check))
        for check, result in results.items()
    }


def counting(fact: str) -> str:
    """The statement that counts the rows of a fact."""
    return f"select count(*) as rows from {fact}"


def _rows(fact: str, trace: Trace) -> int:
    """The number of rows of a fact; 0 where it can't be counted.

    Raises:
        Exception: something can't be written.
    """
    try:
        ((rows,),) = trace.query(counting(fact)).tuples()
    except TableError:
        return 0
    except Exception as error:
        if is_of_storage(error):
            raise
        return 0
    return int(rows)


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
