"""Run the checks of a plan over its trace, in few Spark jobs, and come to a verdict."""

from collections import Counter
from dataclasses import dataclass
from functools import reduce
from typing import Any

import msgspec
from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from analysis import resumption
from analysis.checks.base import CheckOutcome
from analysis.checks.registry import CHECKS
from analysis.load import Trace
from harness.contract.checks import Check
from harness.contract.run_folder import Expectation
from harness.contract.verdicts import (
    EXAMPLES_MAX,
    SCHEMA,
    CheckResult,
    CheckVerdict,
    FaultResult,
    Finding,
    FindingVerdict,
    Resumption,
    RunVerdict,
    Verdict,
)


@dataclass(frozen=True)
class Found:
    """The count of findings of one check, verdict and group."""

    check: str
    verdict: FindingVerdict
    group: str | None
    findings: int


def judge(trace: Trace) -> Verdict:
    """The verdict of a run, by the checks that its plan names."""
    planned = [Check(name) for name in trace.plan.checks]
    found, results = _run([check for check in planned if check in CHECKS], trace)
    resumed: list[Resumption] = []
    if Check.RESUMPTION in planned:
        resumed, results[Check.RESUMPTION] = _resumption(trace)
    faults = _faults(trace)
    return Verdict(
        schema=SCHEMA,
        run_id=trace.run.run_id,
        scenario=trace.plan.scenario,
        parameters=trace.plan.parameters,
        seed=trace.run.seed,
        kafka=trace.run.kafka,
        clients=trace.run.clients,
        cluster=trace.run.cluster,
        verdict=decide(
            found,
            results,
            expects=trace.plan.expects,
            is_whole=trace.run.error is None and all(fault.landed for fault in faults),
        ),
        checks={str(check): results[check] for check in planned},
        faults=faults,
        resumption=resumed,
        rerun=trace.run.rerun,
    )


def decide(
    found: list[Found],
    results: dict[Check, CheckResult],
    *,
    expects: list[Expectation],
    is_whole: bool,
) -> RunVerdict:
    """fail: a violation that nothing expects; pass: all judged, all expected seen; else undecided.

    Args:
        found: counts of all findings.
        results: of every planned check.
        expects: the plan's expectations.
        is_whole: whether the scenario came to its end and all its faults landed.
    """
    violations = {
        (one.check, one.group) for one in found if one.verdict is FindingVerdict.VIOLATION
    }
    covered: set[tuple[str, str | None]] = set()
    is_all_seen = True
    for expectation in expects:
        met = {
            (one.check, one.group)
            for one in found
            if (one.check, one.verdict) == (expectation.check, expectation.verdict)
            and (not expectation.groups or one.group in expectation.groups)
        }
        if expectation.verdict == FindingVerdict.VIOLATION:
            covered |= met
        seen = {group for _, group in met}
        is_all_seen &= bool(met) and set(expectation.groups) <= seen
    if violations - covered:
        return RunVerdict.FAIL
    unclear = {CheckVerdict.NOT_EVALUABLE, CheckVerdict.UNDECIDED}
    is_all_clear = not any(result.verdict in unclear for result in results.values())
    return RunVerdict.PASS if is_whole and is_all_seen and is_all_clear else RunVerdict.UNDECIDED


def _run(checks: list[Check], trace: Trace) -> tuple[list[Found], dict[Check, CheckResult]]:
    """Judge by every check; one that crashes or lacks a table leaves the others theirs."""
    results: dict[Check, CheckResult] = {}
    outcomes: dict[Check, CheckOutcome] = {}
    for check in checks:
        if lacks := CHECKS[check].lacks(trace):
            results[check] = _unjudged(CheckVerdict.NOT_EVALUABLE, lacks)
            continue
        try:
            outcomes[check] = CHECKS[check].judge(trace)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other checks go on
            results[check] = _crashed(error)
    found, judged = _collected(trace, outcomes)
    return found, results | judged


def _collected(
    trace: Trace, outcomes: dict[Check, CheckOutcome]
) -> tuple[list[Found], dict[Check, CheckResult]]:
    """All checks in the same jobs; if these fail, each check in its own, to tell which it was."""
    try:
        return _collect(trace, outcomes)
    except Exception as error:  # noqa: BLE001 - Spark runs a check only here, so see above
        if len(outcomes) == 1:
            return [], dict.fromkeys(outcomes, _crashed(error))
    found: list[Found] = []
    results: dict[Check, CheckResult] = {}
    for check, outcome in outcomes.items():
        found_by_one, result = _collected(trace, {check: outcome})
        found += found_by_one
        results |= result
    return found, results


def _unjudged(verdict: CheckVerdict, reason: str) -> CheckResult:
    return CheckResult(verdict=verdict, evaluated=0, findings=0, examples=[], reason=reason)


def _crashed(error: Exception) -> CheckResult:
    first_line = str(error).strip().partition("\n")[0]
    return _unjudged(CheckVerdict.UNDECIDED, f"{type(error).__name__}: {first_line}")


def _collect(
    trace: Trace, outcomes: dict[Check, CheckOutcome]
) -> tuple[list[Found], dict[Check, CheckResult]]:
    """Count and sample the findings of all checks at once."""
    if not outcomes:
        return [], {}
    rows = _counted_examples(
        _union({check: outcome.findings for check, outcome in outcomes.items()})
    )
    counts = {(row["check"], row["verdict"], row["group"]): row["_findings"] for row in rows}
    found = [
        Found(check, FindingVerdict(verdict), group, findings)
        for (check, verdict, group), findings in counts.items()
    ]
    clients = {group.group: group.client for group in trace.plan.groups}
    evaluated = _evaluated(outcomes)
    results = {
        check: _result(
            [one for one in found if one.check == check],
            evaluated[check],
            [_finding(row, clients) for row in rows if row["check"] == check][:EXAMPLES_MAX],
        )
        for check in outcomes
    }
    return found, results


def _evaluated(outcomes: dict[Check, CheckOutcome]) -> dict[Check, int]:
    known = {c: o.evaluated for c, o in outcomes.items() if isinstance(o.evaluated, int)}
    asked = {c: o.evaluated for c, o in outcomes.items() if not isinstance(o.evaluated, int)}
    if asked:
        known |= {Check(row["check"]): row["evaluated"] for row in _union(asked).collect()}
    return known


def _union(frames: dict[Check, DataFrame]) -> DataFrame:
    named = [frame.withColumn("check", F.lit(str(check))) for check, frame in frames.items()]
    return reduce(DataFrame.unionByName, named)


def _counted_examples(findings: DataFrame) -> list[Row]:
    """The first EXAMPLES_MAX findings of each check, verdict and group, violations first.

    Each row carries `_findings`: how many its check, verdict and group has in all.
    """
    kind = Window.partitionBy("check", "verdict", "group")
    order = ("topic", "partition", "offset_first")
    severity = F.when(F.col("verdict") == "violation", 0).when(F.col("verdict") == "undecided", 1)
    return (
        findings.withColumn("_rank", F.row_number().over(kind.orderBy(*order)))
        .withColumn("_findings", F.count(F.lit(1)).over(kind))
        .where(F.col("_rank") <= EXAMPLES_MAX)
        .orderBy("check", severity.otherwise(2), "group", *order)
        .collect()
    )


def _finding(row: Row, clients: dict[str, str]) -> Finding:
    values: dict[str, Any] = row.asDict()
    values.pop("_rank")
    values.pop("_findings")
    values["verdict"] = FindingVerdict(values["verdict"])
    values["evidence"] = msgspec.json.decode(values["evidence"])
    return Finding(**values, client=clients.get(values["group"] or ""))


def _result(found: list[Found], evaluated: int, examples: list[Finding]) -> CheckResult:
    counts: Counter[FindingVerdict] = Counter()
    for one in found:
        counts[one.verdict] += one.findings
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
        reason="" if evaluated else "its tables hold nothing that it could judge",
    )


def _resumption(trace: Trace) -> tuple[list[Resumption], CheckResult]:
    """The rows of resumption, and their count as a check's result."""
    if lacks := resumption.lacks(trace):
        return [], _unjudged(CheckVerdict.NOT_EVALUABLE, lacks)
    try:
        resumed = resumption.resumptions(trace)
    except Exception as error:  # noqa: BLE001 - the checks are told all the same
        return [], _crashed(error)
    if not resumed:
        return [], _unjudged(CheckVerdict.NOT_EVALUABLE, "no group was opened a second time")
    holds = CheckResult(verdict=CheckVerdict.HOLDS, evaluated=len(resumed), findings=0, examples=[])
    return resumed, holds


def _faults(trace: Trace) -> list[FaultResult]:
    if not trace.rows["faults"]:
        return []
    return [
        FaultResult(
            fault=row["fault"],
            target=row["target"],
            landed=row["landed"],
            evidence=msgspec.json.decode(row["evidence"]),
        )
        for row in trace["faults"].orderBy("started_micros").collect()
    ]
