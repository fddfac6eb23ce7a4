"""Run all checks over a trace, and come to a verdict."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import pyarrow as pa

from analysis.checks.base import FINDING_COLUMNS, CheckOutcome, Totals
from analysis.checks.registry import CHECKS
from analysis.engine import functions as F  # noqa: N812 - Spark's own habit
from analysis.engine.columns import Window
from analysis.engine.frames import Frame, Row
from analysis.facts.gaps import doubts, gaps, reasons
from analysis.facts.load import Trace
from analysis.verdict import resumption
from analysis.verdict.exercise import cases_of, counted, counts, with_exercised
from analysis.verdict.rules import rule_rows, unasked
from analysis.verdict.styles import style_rows
from analysis.verdict.timing import timing
from analysis.verdict.vacuity import vacuous_check
from contract.checks import Check
from contract.errors import TableError
from contract.run_folder import Expectation
from contract.verdicts import (
    EXAMPLES_MAX,
    SCHEMA,
    CheckResult,
    CheckVerdict,
    FaultResult,
    Finding,
    FindingVerdict,
    Resumption,
    RuleRow,
    RunVerdict,
    Verdict,
)

_DRIVER_ROWS = 10_000
_SEVERITY = {"violation": 0, "undecided": 1}


@dataclass(frozen=True)
class Found:
    """The count of findings of one check, verdict and group."""

    check: str
    verdict: FindingVerdict
    group: str | None
    findings: int


@dataclass(frozen=True)
class _Asked:
    """What a check is about to report, and why that can't be relied on, if so."""

    check: Check
    outcome: CheckOutcome
    unreliable: str


def judge(trace: Trace, only: Iterable[Check] = tuple(Check)) -> Verdict:
    """The verdict of a run, by every check, or by some only."""
    asked = list(only)
    must_judge = trace.plan.must_judge
    unclear = doubts(trace) + _unclear_plan(must_judge)
    found, results = _run([check for check in asked if check in CHECKS], trace)
    resumed: list[Resumption] = []
    if Check.RESUMPTION in asked:
        resumed, results[Check.RESUMPTION] = _resumption(trace)
    if Check.VACUOUS_CHECK in asked:
        results[Check.VACUOUS_CHECK] = vacuous_check(results, must_judge)
    rules = _rules(trace)
    unclear += unasked(rules, must_judge)
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
            must_judge=must_judge,
            expects=trace.plan.expects,
            is_whole=trace.run.error is None
            and all(fault.landed for fault in faults)
            and not unclear,
        ),
        doubts=unclear,
        checks={str(check): results[check] for check in asked},
        must_judge=must_judge,
        faults=faults,
        resumption=resumed,
        styles=style_rows(resumed, trace.plan.groups),
        rules=rules,
        rerun=trace.run.rerun,
        timing=timing(trace),
    )


def _unclear_plan(must_judge: list[str]) -> list[str]:
    """Why a plan can't lead to a pass, in words."""
    if not must_judge:
        return ["the plan names no check that must be judged"]
    unknown = sorted(set(must_judge) - set(Check))
    return [f"this release has no check {name}, which must be judged" for name in unknown]


def decide(
    found: list[Found],
    results: dict[Check, CheckResult],
    *,
    must_judge: Collection[str],
    expects: list[Expectation],
    is_whole: bool,
) -> RunVerdict:
    """fail: a violation that nothing expects; pass: all clear, all expected seen; else undecided.

    Args:
        found: counts of all findings.
        results: of every check; one that is undecided leaves no pass.
        must_judge: the checks that must have something to judge.
        expects: the plan's expectations.
        is_whole: whether the scenario came to its end, all its faults landed, and no gap leaves the
            run as a whole undecided.
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
        is_met = bool(met) and (not expectation.in_each or set(expectation.groups) <= seen)
        is_all_seen &= is_met or expectation.is_optional
    if violations - covered:
        return RunVerdict.FAIL
    is_all_clear = all(
        result.verdict is not CheckVerdict.UNDECIDED
        and (result.verdict is not CheckVerdict.NOT_EVALUABLE or check not in must_judge)
        for check, result in results.items()
    )
    return RunVerdict.PASS if is_whole and is_all_seen and is_all_clear else RunVerdict.UNDECIDED


def _run(checks: list[Check], trace: Trace) -> tuple[list[Found], dict[Check, CheckResult]]:
    """Judge by every check; one that crashes or lacks a table leaves the others theirs."""
    missing = gaps(trace)

    def asked(check: Check) -> _Asked | CheckResult:
        if lacks := CHECKS[check].lacks(trace):
            return _lacking(lacks, reasons(missing, set(CHECKS[check].needs)))
        try:
            with trace.touched() as tables:
                outcome = CHECKS[check].judge(trace)
        except TableError as error:
            return _unjudged(CheckVerdict.NOT_EVALUABLE, str(error))
        except Exception as error:  # noqa: BLE001 - whatever it is, the other checks go on
            return _crashed(error)
        return _Asked(check, outcome, reasons(missing, tables))

    told = dict(zip(checks, trace.engine.each(asked, checks), strict=True))
    judged = {check: one for check, one in told.items() if isinstance(one, _Asked)}
    outcomes = {check: one.outcome for check, one in judged.items()}
    cases = cases_of(judged, trace)
    # All at once, so that the engine knows which frames several of them use.
    *rows, evaluated, exercised = trace.engine.run_all(
        [
            *(one.findings.limit(_DRIVER_ROWS + 1) for one in outcomes.values()),
            counts({str(check): one.evaluated for check, one in outcomes.items()}, trace),
            counts(cases, trace),
        ]
    )
    known = counted(evaluated)

    def collected(one: tuple[_Asked, pa.Table | Exception]) -> tuple[list[Found], CheckResult]:
        asked, first_rows = one
        if isinstance(first_rows, Exception):
            return [], _crashed(first_rows)
        try:
            number = known.get(str(asked.check))
            found, result = _collected(asked.check, asked.outcome, first_rows, number, trace)
        except Exception as error:  # noqa: BLE001 - Spark runs a check only here, so see above
            return [], _crashed(error)
        return _doubted(found, result, asked.unreliable) if asked.unreliable else (found, result)

    pairs = list(zip(judged.values(), rows, strict=True))
    answers = dict(zip(judged, trace.engine.each(collected, pairs), strict=True))
    results = {c: one for c, one in told.items() if isinstance(one, CheckResult)}
    results |= {check: result for check, (_, result) in answers.items()}
    results = with_exercised(
        results, counted(exercised), known=not isinstance(exercised, Exception)
    )
    return [one for found, _ in answers.values() for one in found], results


def _doubted(
    found: list[Found], result: CheckResult, reason: str
) -> tuple[list[Found], CheckResult]:
    """What a check found in tables that have gaps: all of it is undecided, none found too."""
    undecided = FindingVerdict.UNDECIDED
    examples = [msgspec.structs.replace(one, verdict=undecided) for one in result.examples]
    return [replace(one, verdict=undecided) for one in found], msgspec.structs.replace(
        result, verdict=CheckVerdict.UNDECIDED, examples=examples, reason=reason
    )


def _lacking(lacks: str, gap: str) -> CheckResult:
    """Of a check whose tables have no rows: undecided where a gap may be the cause."""
    if gap:
        return _unjudged(CheckVerdict.UNDECIDED, f"{lacks}: {gap}")
    return _unjudged(CheckVerdict.NOT_EVALUABLE, lacks)


def _unjudged(verdict: CheckVerdict, reason: str) -> CheckResult:
    return CheckResult(verdict=verdict, evaluated=0, findings=0, examples=[], reason=reason)


def _crashed(error: Exception) -> CheckResult:
    first_line = str(error).strip().partition("\n")[0]
    return _unjudged(CheckVerdict.UNDECIDED, f"{type(error).__name__}: {first_line}")


def _collected(
    check: Check,
    outcome: CheckOutcome,
    first_rows: pa.Table,
    evaluated: int | None,
    trace: Trace,
) -> tuple[list[Found], CheckResult]:
    """Count and sample the findings of a check, and what it judged unless that is known."""
    rows, numbers = _counted_examples(outcome.findings, first_rows)
    found = [
        Found(str(check), FindingVerdict(verdict), group, findings)
        for (verdict, group), findings in numbers.items()
    ]
    if evaluated is None:
        evaluated = counted(counts({str(check): outcome.evaluated}, trace).toArrow())[str(check)]
    clients = {group.group: group.client for group in trace.plan.groups}
    result = _result(
        found,
        evaluated,
        [_finding(check, row, clients) for row in rows[:EXAMPLES_MAX]],
    )
    if outcome.totals is not None and result.findings:
        result = msgspec.structs.replace(result, summary=_summary(outcome.totals))
    return found, result


def _summary(totals: Totals) -> str:
    keys = [name for name in totals.rows.columns if name != "records"]
    summed = totals.rows.groupBy(*keys).agg(F.sum("records").alias("records")).collect()
    return totals.tell([dict(row) for row in summed])


def _counted_examples(
    findings: Frame, first_rows: pa.Table
) -> tuple[list[Row], Counter[tuple[str, str | None]]]:
    """Examples, violations first: EXAMPLES_MAX of each verdict and group; and counts by both.

    So few findings that the driver can hold them are counted here, which is cheaper to plan.
    """
    rows = [Row(row) for row in first_rows.to_pylist()]
    if len(rows) <= _DRIVER_ROWS:
        return sorted(rows, key=_order), Counter((row["verdict"], row["group"]) for row in rows)
    kind = Window.partitionBy("verdict", "group")
    worst = (
        findings.withColumn(
            "_rank", F.row_number().over(kind.orderBy("topic", "partition", "offset_first"))
        )
        .withColumn("_findings", F.count(F.lit(1)).over(kind))
        .where(F.col("_rank") <= EXAMPLES_MAX)
    )
    ranked = worst.collect()
    counts = Counter({(row["verdict"], row["group"]): row["_findings"] for row in ranked})
    return sorted(ranked, key=_order), counts


def _order(row: Row) -> tuple[Any, ...]:
    keys = (row[name] for name in ("group", "topic", "partition", "offset_first"))
    return (_SEVERITY.get(row["verdict"], 2), *((key is not None, key or 0) for key in keys))


def _finding(check: Check, row: Row, clients: dict[str, str]) -> Finding:
    values: dict[str, Any] = {name: row[name] for name in FINDING_COLUMNS}
    values["verdict"] = FindingVerdict(values["verdict"])
    values["evidence"] = msgspec.json.decode(values["evidence"])
    return Finding(**values, check=str(check), client=clients.get(values["group"] or ""))


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
        reason="" if evaluated else "the tables have no rows to evaluate",
    )


def _resumption(trace: Trace) -> tuple[list[Resumption], CheckResult]:
    """The rows of resumption, and their count as a check's result."""
    if lacks := resumption.lacks(trace):
        return [], _unjudged(CheckVerdict.NOT_EVALUABLE, lacks)
    try:
        resumed = resumption.resumptions(trace)
    except TableError as error:
        return [], _unjudged(CheckVerdict.NOT_EVALUABLE, str(error))
    except Exception as error:  # noqa: BLE001 - the checks are reported all the same
        return [], _crashed(error)
    if not resumed:
        return [], _unjudged(CheckVerdict.NOT_EVALUABLE, "no group was opened a second time")
    holds = CheckResult(verdict=CheckVerdict.HOLDS, evaluated=len(resumed), findings=0, examples=[])
    return resumed, holds


def _rules(trace: Trace) -> list[RuleRow]:
    """The responses about each rule; none if they can't be counted, which the checks report."""
    try:
        return rule_rows(trace)
    except Exception:  # noqa: BLE001 - the checks are reported all the same
        return []


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
        for row in trace.present("faults").orderBy("injected_micros").collect()
    ]
