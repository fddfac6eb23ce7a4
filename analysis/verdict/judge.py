"""Run all checks over a trace, and come to a verdict; with where the run's wall time went."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from analysis.facts.gaps import doubts, gaps, reasons
from analysis.statements.registry import CHECKS, DESCRIBED
from analysis.statements.trace import Row, Trace
from analysis.verdict.decision import (
    Found,
    collect,
    crashed,
    decide,
    doubt_findings,
    doubted_rows,
    every,
    finding_of,
    found_of,
    lacking,
    meet,
    result_of,
    unexpected_findings,
    unjudged,
    with_expected,
)
from analysis.verdict.every_finding import Keep, as_table
from analysis.verdict.exercise import vacuous_check, with_exercised
from analysis.verdict.resumption import resumptions, style_rows
from analysis.verdict.rules import reasons_unasked, rule_rows
from contract.errors import TableError
from contract.files import SCHEMA
from contract.packages import extras, load
from contract.tables import MICROS_PER_SECOND
from contract.terms import Check, Stage, target_of
from contract.verdicts import (
    EXAMPLES_MAX,
    CheckResult,
    CheckVerdict,
    FaultResult,
    Note,
    PhaseTime,
    Resumption,
    Timing,
    Verdict,
)


def judge(
    trace: Trace, only: Iterable[Check] = tuple(DESCRIBED), *, keep: Keep | None = None
) -> Verdict:
    """The verdict of a run, by every check, or by some only.

    Args:
        trace: of the run.
        only: the checks.
        keep: called with all findings of each check that has any; some of them are in the verdict.
    """
    asked = list(only)
    must_judge = trace.plan.must_judge
    faults = _faults(trace)
    unclear = doubts(trace) + _unclear_plan(must_judge)
    found, results = _run([check for check in asked if check in CHECKS], trace, keep)
    results = with_exercised(results, trace)
    resumed: list[Resumption] = []
    if Check.RESUMPTION in asked:
        resumed, results[Check.RESUMPTION] = resumptions(trace)
    if Check.VACUOUS_CHECK in asked:
        results[Check.VACUOUS_CHECK] = vacuous_check(results, must_judge)
        if keep is not None:
            keep(str(Check.VACUOUS_CHECK), as_table(results[Check.VACUOUS_CHECK].examples), {})
    rules = rule_rows(trace)
    unclear += reasons_unasked(rules, must_judge)
    results = with_expected(results, trace.plan.expects, found)
    expectations = meet(trace.plan.expects, found)
    uncovered = unexpected_findings(trace.plan.expects, found)
    return Verdict(
        schema=SCHEMA,
        run_id=trace.run.run_id,
        scenario=trace.plan.scenario,
        parameters=trace.plan.parameters,
        seed=trace.run.seed,
        kafka=trace.run.kafka,
        build="" if trace.run.build is None else trace.run.build.note,
        clients=trace.run.clients,
        cluster=trace.run.cluster,
        verdict=decide(
            expectations,
            uncovered,
            results,
            must_judge=must_judge,
            is_whole=trace.run.error is None
            and all(fault.landed for fault in faults)
            and not unclear,
        ),
        doubts=unclear,
        unusable=sorted(trace.unreadable),
        checks={str(check): results[check] for check in asked},
        must_judge=must_judge,
        faults=faults,
        resumption=resumed,
        styles=style_rows(resumed, trace.plan.groups),
        rules=rules,
        rerun=trace.run.rerun,
        timing=timing(trace),
        expectations=expectations,
        unexpected=uncovered,
        notes=_notes(trace),
        cells=_cells(trace),
    )


def _unclear_plan(must_judge: list[str]) -> list[str]:
    """Why a plan can't lead to a pass, in words."""
    if not must_judge:
        return ["the plan names no check that must be judged"]
    unknown = sorted(set(must_judge) - set(Check))
    return [f"this release has no check {name}, which must be judged" for name in unknown]


def _run(
    asked: list[Check], trace: Trace, keep: Keep | None
) -> tuple[list[Found], dict[Check, CheckResult]]:
    """Judge by every check; one that crashes or lacks a table leaves the others theirs."""
    missing = gaps(trace)
    clients = {group.group: group.client for group in trace.plan.groups}

    def judge_check(check: Check) -> tuple[list[Found], CheckResult]:
        definition = CHECKS[check]
        if lacks := definition.lacks(trace):
            gap = reasons(missing, set(definition.needs))
            return [], lacking(lacks, gap)
        try:
            with trace.watch_tables() as tables:
                outcome = definition.judge(trace)
            collected = collect(outcome.findings)
            ((evaluated,),) = outcome.evaluated.tuples()
            found = found_of(check, collected, clients)
            examples = collected.rows.slice(0, EXAMPLES_MAX).to_pylist()
            result = result_of(
                found, int(evaluated), [finding_of(check, row, clients) for row in examples]
            )
            if outcome.summary is not None and result.findings:
                summary = "".join(row["summary"] for row in outcome.summary.collect())
                result = msgspec.structs.replace(result, summary=summary)
            unreliable = reasons(missing, tables)
            if keep is not None:
                rows = every(outcome.findings, collected)
                keep(str(check), doubted_rows(rows) if unreliable else rows, clients)
        except TableError as error:
            return [], unjudged(CheckVerdict.NOT_EVALUABLE, str(error))
        except Exception as error:  # noqa: BLE001 - whatever it is, the other checks go on
            return [], crashed(error)
        return doubt_findings(found, result, unreliable) if unreliable else (found, result)

    answers = {check: judge_check(check) for check in asked}
    results = {check: result for check, (_, result) in answers.items()}
    return [entry for found, _ in answers.values() for entry in found], results


def _faults(trace: Trace) -> list[FaultResult]:
    if not trace.rows["faults"]:
        return []
    rows = trace.ask("select * from faults order by injected_micros", optional=("faults",))
    return [
        FaultResult(
            fault=row["fault"],
            target=str(target_of(row)),
            landed=row["landed"],
            evidence=msgspec.json.decode(row["evidence"]),
        )
        for row in rows
    ]


def _cells(trace: Trace) -> list[dict[str, Any]]:
    """What an extra says of the groups of its scenario."""
    made = extras("cells").get(trace.plan.scenario)
    return [] if made is None else list(load(made)(trace))


def _notes(trace: Trace) -> list[Note]:
    rows = trace.ask("select * from notes order by at_micros") if trace.rows["notes"] else []
    return [Note(text=row["text"], at_micros=row["at_micros"]) for row in rows]


_BEFORE = (Stage.STARTING, Stage.WARM_UP)
"""The story begins after the last of these."""


def timing(trace: Trace) -> Timing | None:
    """Of a run that came to its end; None where the phases are not known."""
    phases = trace.ask("select * from phases order by began_micros") if trace.rows["phases"] else []
    before = [index for index, row in enumerate(phases) if row["stage"] in _BEFORE]
    reported = [
        row for row in phases[max(before, default=-1) + 1 :] if row["stage"] != Stage.COLLECTING
    ]
    if not reported or trace.run.ended_micros is None:
        return None
    began, ended = reported[0]["began_micros"], reported[-1]["ended_micros"]
    faults = trace.ask("select forced_ms, forced_by from faults", optional=("faults",))
    settings = {name for row in faults for name in (row["forced_by"] or "").split(", ") if name}
    return Timing(
        starting=_seconds(began - trace.run.started_micros),
        story=_seconds(ended - began),
        collecting=_seconds(trace.run.ended_micros - ended),
        awaited=_seconds(covered_micros(_waits(trace), began, ended)),
        forced=sum(row["forced_ms"] or 0 for row in faults) / 1000,
        forced_by=sorted(settings),
        phases=list(_phases(phases)),
    )


def covered_micros(spans: Sequence[tuple[int, int]], began: int, ended: int) -> int:
    """How much of the time from `began` to `ended` lies in any of the spans."""
    covered, until = 0, began
    for first, last in sorted(spans):
        new_first, new_last = max(first, until), min(last, ended)
        if new_last > new_first:
            covered += new_last - new_first
            until = new_last
    return covered


def _waits(trace: Trace) -> list[tuple[int, int]]:
    if not trace.rows["waits"]:
        return []
    rows = trace.ask("select began_micros, ended_micros from waits")
    return [(row["began_micros"], row["ended_micros"]) for row in rows]


def _phases(rows: Iterable[Row]) -> Iterable[PhaseTime]:
    for row in rows:
        seconds = _seconds(row["ended_micros"] - row["began_micros"])
        yield PhaseTime(stage=row["stage"], doing=row["doing"], seconds=seconds)


def _seconds(micros: int) -> float:
    return round(micros / MICROS_PER_SECOND, 1)
