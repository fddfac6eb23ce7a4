"""How many cases a check had in which it could have failed.

Most checks can fail in everything that they evaluate. Those that name a fact in their header under
`exercised` evaluate more: a run without any leader change evaluates all its records, and yet proves
nothing about what a leader change loses.
"""

from collections.abc import Mapping

import msgspec

from analysis.checks.registry import CHECKS
from analysis.facts.trace import Trace
from contract.checks import Check
from contract.errors import TableError
from contract.regular_files import is_of_storage
from contract.verdicts import CheckResult


def with_exercised(results: Mapping[Check, CheckResult], trace: Trace) -> dict[Check, CheckResult]:
    """Results with how many cases each check had: rows of the fact that it names, or all."""

    def exercised(check: Check) -> int:
        fact = CHECKS[check].header.exercised
        if not results[check].evaluated or not fact:
            return results[check].evaluated
        return trace.once(f"rows of {fact}", lambda: _rows(fact, trace))

    numbers = trace.engine.each(exercised, results)
    return {
        check: msgspec.structs.replace(result, exercised=number)
        for (check, result), number in zip(results.items(), numbers, strict=True)
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
