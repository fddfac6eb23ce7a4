"""The findings of each check, from the engine's rows, and the verdict that follows."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import pyarrow as pa

from analysis.statements.cases import FINDING_COLUMNS
from analysis.statements.trace import Query
from analysis.verdict.every_finding import ORDER, in_order
from contract.files import is_of_storage
from contract.run_folder import Expectation
from contract.terms import Check
from contract.verdicts import (
    EXAMPLES_MAX,
    FINDINGS,
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
    meeting = [entry for entry in found if _counts_for(entry, expectation)]
    seen = {entry.group for entry in meeting}
    return ExpectationResult(
        check=expectation.check,
        verdict=FindingVerdict(expectation.verdict),
        groups=expectation.groups,
        in_each=expectation.in_each,
        is_optional=expectation.is_optional,
        findings=sum(entry.findings for entry in meeting),
        seen=sorted(group for group in seen if group is not None),
        is_met=bool(meeting) and (not expectation.in_each or set(expectation.groups) <= seen),
    )


def _counts_for(found: Found, expectation: Expectation) -> bool:
    return (found.check, found.verdict) == (expectation.check, expectation.verdict) and (
        not expectation.groups or found.group in expectation.groups
    )


def unexpected_findings(
    expects: Iterable[Expectation], found: Iterable[Found]
) -> list[UnexpectedFindings]:
    """The violations that no expectation covers, by check and group; a client that ended first."""
    covering = list(expects)
    uncovered = [
        UnexpectedFindings(
            check=entry.check,
            group=entry.group,
            findings=entry.findings,
            number=entry.number,
            first=entry.first,
        )
        for entry in found
        if entry.verdict is FindingVerdict.VIOLATION
        and not any(_counts_for(entry, expectation) for expectation in covering)
    ]
    return sorted(uncovered, key=lambda entry: entry.check != Check.FAILED_CLIENT)


def with_expected(
    results: Mapping[Check, CheckResult], expects: Iterable[Expectation], found: Iterable[Found]
) -> dict[Check, CheckResult]:
    """The results with the number of their findings that an expectation covers."""
    covering = list(expects)
    expected: dict[str, Counter[FindingVerdict]] = {}
    for entry in found:
        if any(_counts_for(entry, expectation) for expectation in covering):
            expected.setdefault(entry.check, Counter())[entry.verdict] += entry.findings
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
    is_all_seen = all(expectation.is_met or expectation.is_optional for expectation in expectations)
    is_all_clear = all(
        result.verdict is not CheckVerdict.UNDECIDED
        and (result.verdict is not CheckVerdict.NOT_EVALUABLE or check not in must_judge)
        for check, result in results.items()
    )
    return RunVerdict.PASS if is_whole and is_all_seen and is_all_clear else RunVerdict.UNDECIDED


DRIVER_ROWS = 10_000
"""The number of findings of a check that the driver asks for first."""
_FINDINGS = "_findings"
_NONE = pa.schema([FINDINGS.field(name) for name in FINDING_COLUMNS]).empty_table()
_RANKED = f"""
select * from (
  select *, count(1) over (partition by verdict, `group`) as {_FINDINGS},
    row_number() over (
      partition by verdict, `group`
      order by {", ".join(f"`{name}`" for name in ORDER if name != "group")}) as _rank
  from check_rows)
where _rank <= {EXAMPLES_MAX}"""


@dataclass(frozen=True)
class Collected:
    """The findings of a check.

    Attributes:
        rows: the first of each verdict and group, in order; all of them if they are few.
        numbers: the count of each verdict and group, in the order of the rows.
    """

    rows: pa.Table
    numbers: dict[tuple[FindingVerdict, str | None], int]

    @property
    def is_whole(self) -> bool:
        """Whether the rows are all findings."""
        return int(self.rows.num_rows) == sum(self.numbers.values())


def collect(findings: Query) -> Collected:
    """Count and order the findings of a check.

    If there are more than DRIVER_ROWS, the engine counts them, and the rows are EXAMPLES_MAX of
    each verdict and group.
    """
    if findings.is_without_rows:
        return Collected(_NONE, {})
    first = findings.table(limit=DRIVER_ROWS + 1)
    if first.num_rows <= DRIVER_ROWS:
        rows = in_order(first)
        return Collected(rows, dict(Counter(_kinds(rows))))
    rows = in_order(findings.of(_RANKED).table())
    counts = dict(zip(_kinds(rows), rows[_FINDINGS].to_pylist(), strict=True))
    return Collected(rows.select(FINDING_COLUMNS), counts)


def every(findings: Query, collected: Collected) -> pa.Table:
    """All findings of a check, in order; those that are collected if the engine can't return all.

    A result may be larger than what Spark's driver accepts.
    """
    if collected.is_whole:
        return collected.rows
    try:
        return in_order(findings.table())
    except Exception:  # noqa: BLE001 - whatever the engine raises, the first ones are known
        return collected.rows


def found_of(check: Check, collected: Collected, clients: Mapping[str, str]) -> list[Found]:
    """The count of each verdict and group, and the first finding of each."""
    found, number = [], 1
    first: dict[tuple[FindingVerdict, str | None], int] = {}
    for index, kind in enumerate(_kinds(collected.rows)):
        first.setdefault(kind, index)
    for kind, count in collected.numbers.items():
        example = finding_of(check, collected.rows.slice(first[kind], 1).to_pylist()[0], clients)
        found.append(Found(str(check), *kind, count, number, example))
        number += count
    return found


def doubt_findings(
    found: list[Found], result: CheckResult, reason: str
) -> tuple[list[Found], CheckResult]:
    """What a check found in tables that have gaps: all of it is undecided, none found too."""
    return [
        replace(entry, verdict=FindingVerdict.UNDECIDED, first=_as_undecided(entry.first))
        for entry in found
    ], msgspec.structs.replace(
        result,
        verdict=CheckVerdict.UNDECIDED,
        examples=[_as_undecided(example) for example in result.examples],
        reason=reason,
        by_verdict={FindingVerdict.UNDECIDED: result.findings} if result.findings else {},
    )


def doubted_rows(rows: pa.Table) -> pa.Table:
    """Findings in tables that have gaps: undecided."""
    undecided = pa.repeat(str(FindingVerdict.UNDECIDED), rows.num_rows)
    return rows.set_column(rows.column_names.index("verdict"), "verdict", undecided)


def _as_undecided(finding: Finding) -> Finding:
    return msgspec.structs.replace(finding, verdict=FindingVerdict.UNDECIDED)


def finding_of(check: Check, row: dict[str, Any], clients: Mapping[str, str]) -> Finding:
    """A finding from its row."""
    values: dict[str, Any] = {name: row[name] for name in FINDING_COLUMNS}
    values["verdict"] = FindingVerdict(values["verdict"])
    values["evidence"] = msgspec.json.decode(values["evidence"])
    return Finding(**values, check=str(check), client=clients.get(values["group"] or ""))


def result_of(found: list[Found], evaluated: int, examples: list[Finding]) -> CheckResult:
    """The result of a check, by its worst finding."""
    counts: Counter[FindingVerdict] = Counter()
    for entry in found:
        counts[entry.verdict] += entry.findings
    if evaluated == 0:
        verdict = CheckVerdict.NOT_EVALUABLE
    elif counts[FindingVerdict.VIOLATION]:
        verdict = CheckVerdict.VIOLATED
    elif counts[FindingVerdict.UNDECIDED]:
        verdict = CheckVerdict.UNDECIDED
    elif counts[FindingVerdict.PERMITTED]:
        verdict = CheckVerdict.PERMITTED
    else:
        verdict = CheckVerdict.HOLDS
    return CheckResult(
        verdict=verdict,
        evaluated=evaluated,
        findings=counts.total(),
        examples=examples,
        reason="" if evaluated else "the tables have no rows to evaluate",
        by_verdict=dict(counts),
    )


def _kinds(rows: pa.Table) -> list[tuple[FindingVerdict, str | None]]:
    verdicts, groups = rows["verdict"].to_pylist(), rows["group"].to_pylist()
    return [
        (FindingVerdict(verdict), group) for verdict, group in zip(verdicts, groups, strict=True)
    ]


def lacking(lacks: str, gap: str) -> CheckResult:
    """Of a check whose tables have no rows: undecided where a gap may be the cause."""
    if gap:
        reason = gap if gap.startswith(lacks) else f"{lacks}: {gap}"
        return unjudged(CheckVerdict.UNDECIDED, reason)
    return unjudged(CheckVerdict.NOT_EVALUABLE, lacks)


def unjudged(verdict: CheckVerdict, reason: str) -> CheckResult:
    """Of a check that judged nothing, and why."""
    return CheckResult(verdict=verdict, evaluated=0, findings=0, examples=[], reason=reason)


def crashed(error: Exception) -> CheckResult:
    """Of a check that ended with an error; a full disk ends the judging instead.

    Raises:
        Exception: the error, if something can't be written.
    """
    if is_of_storage(error):
        raise error
    first_line = str(error).strip().partition("\n")[0]
    return unjudged(CheckVerdict.UNDECIDED, f"{type(error).__name__}: {first_line}")
