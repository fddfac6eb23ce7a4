"""A small judged run on disk, with tables of a few rows, for the tests of pages and answers."""

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from contract.run_folder import Consequence, GroupPlan, RunFolder, TopicPlan
from contract.tables import TABLES
from contract.terms import CommitEpoch
from contract.verdicts import (
    CheckResult,
    CheckVerdict,
    ExpectationResult,
    FaultResult,
    Finding,
    FindingVerdict,
    Judging,
    Note,
    PhaseTime,
    Resumption,
    RuleRow,
    RunVerdict,
    StyleRow,
    Timing,
    UnexpectedFindings,
    Verdict,
)
from tests.descriptions import complete_rows, description_of, plan_of
from tests.made import make_struct

VIOLATION, PERMITTED = FindingVerdict.VIOLATION, FindingVerdict.PERMITTED
SEND: dict[str, Any] = {
    "worker": "w",
    "producer": "p",
    "topic": "t",
    "partition": 0,
    "acks": "all",
    "outcome": "ok",
    "intended_micros": 1_000_000,
    "answered_micros": 1_000_000,
}

ALL = {"target_kind": "all", "brokers": [], "transactional_ids": []}
"""The target of a fault on all brokers."""


def make_send(first: int, last: int, **fields: Any) -> dict[str, Any]:
    span = {"first_offset": first, "last_offset": last}
    return {**SEND, **span, "first_sequence": first, "last_sequence": last, **fields}


def phase(doing: str, began: int, ended: int) -> dict[str, Any]:
    times = {"began_micros": began, "ended_micros": ended}
    return {"stage": "held", "doing": doing, "limit_seconds": 9, **times}


def finding(check: str = "lost_record", **fields: Any) -> Finding:
    values: dict[str, Any] = {
        "kind": "truncated",
        "verdict": VIOLATION,
        "topic": "t",
        "partition": 0,
        "offset_first": 2,
        "offset_last": 3,
        "group": None,
        "client": None,
        "at": 1_500_000,
        "cause": "2 records were truncated",
        "evidence": {"acks": "all"},
    }
    return Finding(check=check, **values | fields)


def result(*examples: Finding, findings: int | None = None, **fields: Any) -> CheckResult:
    """Of a check with these findings, all of one verdict."""
    of_findings = {VIOLATION: CheckVerdict.VIOLATED, PERMITTED: CheckVerdict.PERMITTED}
    values: dict[str, Any] = {
        "verdict": (
            of_findings.get(examples[0].verdict, CheckVerdict.UNDECIDED)
            if examples
            else CheckVerdict.HOLDS
        ),
        "evaluated": 9,
        "findings": len(examples) if findings is None else findings,
        "by_verdict": dict(Counter(example.verdict for example in examples)),
        "examples": list(examples),
    }
    if examples and findings is not None:
        values["by_verdict"] = {examples[0].verdict: findings}
    return CheckResult(**values | fields)


def make_unexpected(first: Finding, *, findings: int = 1, number: int = 1) -> UnexpectedFindings:
    return UnexpectedFindings(
        check=first.check, group=first.group, findings=findings, number=number, first=first
    )


def make_expectation(check: str, **fields: Any) -> ExpectationResult:
    values: dict[str, Any] = {"in_each": True, "findings": 1, "is_met": True, "verdict": VIOLATION}
    return make_struct(ExpectationResult, check=check, **values | fields)


def verdict_of(checks: dict[str, CheckResult], **fields: Any) -> Verdict:
    values: dict[str, Any] = {
        "run_id": "r",
        "scenario": "micro",
        "seed": 1,
        "kafka": "4.4.0",
        "clients": {"java": "4.4.0"},
        "cluster": "embedded",
        "rerun": "fencepost run micro --seed 1",
        "must_judge": list(checks),
        "answer": "It is so.",
    }
    values |= fields
    covering = [
        (expectation.check, expectation.verdict, expectation.groups)
        for expectation in values.get("expectations", [])
    ]

    def with_expected(name: str, check_result: CheckResult) -> CheckResult:
        covered = Counter(
            found.verdict
            for found in check_result.examples
            if any(
                (check, of) == (name, found.verdict) and (not groups or found.group in groups)
                for check, of, groups in covering
            )
        )
        return msgspec.structs.replace(check_result, expected=dict(covered))

    results = {name: with_expected(name, check_result) for name, check_result in checks.items()}
    return make_struct(Verdict, checks=results, **values)


def run_folder(
    path: Path, *, answer: str = "", follows: Consequence | None = None, **fields: Any
) -> RunFolder:
    """A folder with a plan and a description; `fields` are the description's."""
    folder = RunFolder(path)
    topic = TopicPlan(topic="t", partitions=1, replication=2, min_insync=1, unclean_election=False)
    groups = [
        GroupPlan(
            group=f"{client}.g",
            client=client,
            topic="t",
            commit_epoch="record",
            reset="none",
            labels={"log_end": "above"},
        )
        for client in ("java", "librdkafka")
    ]
    folder.write_plan(
        plan_of(
            scenario=fields.get("scenario", "micro"),
            question="Is it so?\n\nFault:   none.",
            topics=[topic],
            groups=groups,
            answer=answer,
            follows=follows,
        )
    )
    values: dict[str, Any] = {
        "scenario": "micro",
        "clients": {"java": "4.4.0"},
        "git_head": "0",
        "versions": {"python": "3.11"},
        "command": "fencepost run micro",
        "rerun": "fencepost run micro --seed 1",
        "started_micros": 0,
        "ended_micros": 30_000_000,
    }
    folder.write_run(description_of(**values | fields))
    folder.report.mkdir(exist_ok=True)
    return folder


def judged_run(path: Path, verdict: Verdict, **fields: Any) -> RunFolder:
    """Such a folder with its verdict; `fields` are the description's."""
    folder = run_folder(path, **fields)
    (folder.report / "verdict.json").write_bytes(msgspec.json.encode(verdict))
    return folder


def with_tables(folder: RunFolder, **rows: list[dict[str, Any]]) -> RunFolder:
    """Write tables of these rows; columns that a row does not have have their least value."""
    folder.tables.mkdir(exist_ok=True)
    for name, some in rows.items():
        content = pa.Table.from_pylist(complete_rows(name, some), schema=TABLES[name])
        pq.write_table(content, folder.tables / f"{name}.parquet")
    return folder


def change_verdict(before: Verdict, **fields: Any) -> Verdict:
    return msgspec.structs.replace(before, **fields)


def make_resumption(group: str = "java.g", **fields: Any) -> Resumption:
    """A group that committed 200 with epoch 1, and resumed at 100."""
    values: dict[str, Any] = {
        "client": "java",
        "commit_epoch": "record",
        "reset": "none",
        "committed_offset": 200,
        "committed_epoch": 1,
        "resumed_at": 100,
    }
    return make_struct(Resumption, group=group, **values | fields)


def everything() -> Verdict:
    """With findings of each standing, and all that a page can have."""
    lost, odd = finding(), finding("lost_commit", verdict=FindingVerdict.UNDECIDED)
    once = finding("duplicate_delivery", verdict=PERMITTED, group="java.g", client="java")
    seen = finding("skipped_record", group="librdkafka.g", client="librdkafka", offset_last=2)
    first = make_resumption(never_delivered=2)
    second = make_resumption("librdkafka.g", never_delivered=2, resumed_at=99)

    def style_row(style: str, label: str, **fields: Any) -> StyleRow:
        values = {"committed_epoch": 1, "resumed_at": 100, "groups": 1, "of": 3}
        return make_struct(
            StyleRow, commit_epoch=CommitEpoch(style), labels={"log_end": label}, **values | fields
        )

    return verdict_of(
        {
            "lost_record": result(lost, finding(offset_first=9, offset_last=9), findings=1_000),
            "lost_commit": result(odd),
            "duplicate_delivery": result(once, findings=40),
            "skipped_record": result(seen, summary="of one kind"),
            "reset": result(evaluated=1_200, exercised=7),
            "poll_skip": result(evaluated=30),
            "aborted_read": result(verdict=CheckVerdict.UNDECIDED, reason="a gap"),
            "stale_read": result(verdict=CheckVerdict.NOT_EVALUABLE, reason="no rows"),
            "write_cycle": result(verdict=CheckVerdict.NOT_EVALUABLE, reason="no rows"),
        },
        verdict=RunVerdict.FAIL,
        parameters={"recipe": "pause"},
        unexpected=[
            make_unexpected(lost, findings=988),
            make_unexpected(finding(group="java.g", client="java"), findings=12, number=40),
        ],
        expectations=[
            make_expectation("skipped_record", groups=["librdkafka.g"], seen=["librdkafka.g"]),
            make_expectation("reset", is_optional=True, findings=0, is_met=False),
        ],
        resumption=[first, second],
        must_judge=["resumption", "reset"],
        faults=[FaultResult(fault="kill", target="all", landed=False, evidence={"pid": 7})],
        doubts=["the history has a gap"],
        follows=Consequence(sentence="Commit epochs.", document="KIP-320"),
        notes=[Note(text="the cache is cold", at_micros=1_750_000)],
        rules=[
            make_struct(
                RuleRow,
                rule="older epoch",
                api="FETCH",
                versions="9-18",
                responses=1_234,
                verdict="violated",
            )
        ],
        styles=[
            style_row("record", "above", groups=2),
            style_row("record", "above", resumed_at=None, exception="OffsetError (x)"),
            style_row("record", "below", redelivered=1),
            style_row("forced", "above", committed_epoch=3, resumed_at=1_200, never_delivered=100),
            style_row("none", "below", committed_epoch=-1, resumed_at=None),
        ],
        timing=Timing(
            starting=9.4,
            story=7.1,
            collecting=3.4,
            forced=0.0,
            forced_by=[],
            phases=[make_struct(PhaseTime, stage="held", doing="writes", seconds=7.1)],
        ),
        judging=Judging(why="few rows", seconds=2.5),
    )
