"""Genuine responses about committed offsets hold every rule; histories of the exam break each.

`recorded_commits/` is the part `wire` of a run of txn_offset_commit on Kafka 4.4.0: some of its
requests with their responses, and what its tables have of the topic, its groups and their commits.
"""

import json
from pathlib import Path
from typing import Any

import msgspec
from conftest import TraceMaker

from analysis.statements.registry import CHECKS
from analysis.verdict.rules import rule_rows
from contract.protocol import COMMIT_RULES, CommitRule
from harness.wire.answers import answers

RECORDED = Path(__file__).with_name("recorded_commits")

Row = dict[str, Any]


def recorded_rows() -> dict[str, list[Row]]:
    """What the cluster had, and the rows of each request."""
    tables: dict[str, list[Row]] = json.loads((RECORDED / "cluster.json").read_text())
    names = {tables["leaderships"][0]["topic_id"]: "orders"}
    lines = (RECORDED / "observer.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    return {**tables, "wire_calls": [row for event in events for row in _calls(event, names)]}


def _calls(event: Row, names: dict[str, str]) -> list[Row]:
    """The rows of `wire_calls` of one request."""
    request, response = json.loads(event["request"]), json.loads(event["response"])
    found = answers(event["api"], event["version"], request, response, topic_names=names)
    call = {name: value for name, value in event.items() if name not in ("event", "wall_micros")}
    call |= {"worker": "observer", "at_micros": event["wall_micros"]}
    return [call | msgspec.to_builtins(answer) for answer in found]


def test_the_recorded_responses_hold_every_rule(make_trace: TraceMaker) -> None:
    trace = make_trace(recorded_rows())
    checks = {rule.check for rule in COMMIT_RULES.values()}
    assert [CHECKS[check].judge(trace).findings.collect() for check in checks] == [[]] * 3
    verdicts: dict[str, set[str]] = {}
    for row in rule_rows(trace):
        if row.rule in set(CommitRule):
            verdicts.setdefault(row.rule, set()).add(row.verdict)
    assert verdicts == {str(rule): {"holds"} for rule in CommitRule}
