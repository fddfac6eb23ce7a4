"""What the findings of a run mean for its verdict, and how many of each verdict mean that."""

import enum
from collections.abc import Mapping

from analysis.report.words import with_noun
from contract.verdicts import (
    BY_SEVERITY,
    CheckResult,
    ExpectationResult,
    Finding,
    FindingVerdict,
    Verdict,
)


class Standing(enum.StrEnum):
    """What a finding means for the verdict of the run."""

    UNEXPECTED = "unexpected"
    UNDECIDED = "undecided"
    EXPECTED = "expected"
    PERMITTED = "permitted"


def standing_of(finding: Finding, verdict: Verdict) -> Standing:
    """What a finding means for the verdict."""
    if finding.verdict is FindingVerdict.UNDECIDED:
        return Standing.UNDECIDED
    if finding.verdict is FindingVerdict.VIOLATION:
        where = [(entry.check, entry.group) for entry in verdict.unexpected]
        is_unexpected = (finding.check, finding.group) in where
        return Standing.UNEXPECTED if is_unexpected else Standing.EXPECTED
    is_expected = any(_covers(expectation, finding) for expectation in verdict.expectations)
    return Standing.EXPECTED if is_expected else Standing.PERMITTED


def _covers(expectation: ExpectationResult, finding: Finding) -> bool:
    return (expectation.check, expectation.verdict) == (finding.check, finding.verdict) and (
        not expectation.groups or finding.group in expectation.groups
    )


_NOT_COVERED = {
    FindingVerdict.VIOLATION: Standing.UNEXPECTED,
    FindingVerdict.UNDECIDED: Standing.UNDECIDED,
    FindingVerdict.PERMITTED: Standing.PERMITTED,
}
"""The standing of findings that no expectation covers, by verdict."""


def numbers(result: CheckResult, standing: Standing) -> dict[FindingVerdict, int]:
    """How many of all findings of a check have a standing, by their verdict."""
    expected = result.expected
    if standing is Standing.EXPECTED:
        return dict(expected)
    rest = {
        verdict: number - expected.get(verdict, 0) for verdict, number in result.by_verdict.items()
    }
    return {
        verdict: number
        for verdict, number in rest.items()
        if number and _NOT_COVERED[verdict] is standing
    }


def in_words(counted: Mapping[FindingVerdict, int]) -> str:
    """E.g. `8 violations, 4 permitted`."""
    return ", ".join(
        with_noun(counted[verdict], "violation")
        if verdict is FindingVerdict.VIOLATION
        else f"{counted[verdict]:,} {verdict}"
        for verdict in BY_SEVERITY
        if verdict in counted
    )


def found_in_words(result: CheckResult) -> str:
    """All findings of a check, by their verdict."""
    return in_words(result.by_verdict) or str(result.findings)
