"""Responses about committed offsets hold every rule; one changed field breaks the rule it is about.

`recorded_commits/` is the part `wire` of a run of txn_offset_commit on Kafka 4.4.0: some of its
requests with their responses, and what its tables have of the topic, its groups and their commits.
"""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
from conftest import TraceMaker

from analysis.statements.registry import CHECKS
from analysis.verdict.rules import rule_rows
from contract.checks import Check
from contract.commit_rules import COMMIT_RULES, CommitRule
from contract.protocol import RULES
from harness.wire.answers import answers

RECORDED = Path(__file__).with_name("recorded_commits")
COMMIT, TXN, FETCH = "OFFSET_COMMIT", "TXN_OFFSET_COMMIT", "OFFSET_FETCH"
TOPIC, NO_PARTITION = "orders", 99
NONE, UNKNOWN_TOPIC, GENERATION, MEMBER = 0, 3, 22, 25
NO_GROUP, TOPIC_ID, STALE = 69, 100, 113
KNOWN = {"topic": TOPIC, "partition": 0}
_COPIED = ("JOIN_GROUP", "CONSUMER_GROUP_HEARTBEAT", "INIT_PRODUCER_ID")

Row = dict[str, Any]


@dataclass(frozen=True)
class Lie:
    """One field that is changed: of the response about a partition, or of what is stored of it.

    Attributes:
        rule: that must notice it.
        api, version, asked: of the request; `asked` are columns of `wire_calls`.
        response: other fields of the partition in the response.
        stored: other columns of the stored commit.
    """

    rule: CommitRule
    api: str
    version: int
    asked: Row
    response: Row = field(default_factory=dict)
    stored: Row = field(default_factory=dict)


def error(rule: CommitRule, api: str, version: int, number: int, **asked: Any) -> Lie:
    """Another error of a known partition, unless `asked` says otherwise."""
    return Lie(rule, api, version, KNOWN | asked, {"errorCode": number})


UNKNOWN_TOPIC_NAME = {"topic": "nothing"}
ABSENT, CLASSIC, CONSUMER = {"group": "absent"}, {"group": "classic"}, {"group": "consumer"}
SIMPLE = {"group": "simple"}
NEWER, CURRENT, OLDER = {"generation": 4}, {"generation": 3}, {"generation": 2}
LIES = [
    error(CommitRule.UNKNOWN_TOPIC_ID, TXN, 6, UNKNOWN_TOPIC, topic="an id", group="simple"),
    error(CommitRule.UNKNOWN_TOPIC_ID, COMMIT, 10, NONE, topic="an id"),
    error(CommitRule.UNKNOWN_TOPIC_ID, FETCH, 10, NONE, topic="an id"),
    error(CommitRule.UNKNOWN_PARTITION, TXN, 6, NONE, partition=NO_PARTITION, **SIMPLE),
    error(CommitRule.UNKNOWN_PARTITION, COMMIT, 8, TOPIC_ID, partition=NO_PARTITION, **SIMPLE),
    error(CommitRule.UNKNOWN_PARTITION, TXN, 5, NONE, **UNKNOWN_TOPIC_NAME, **SIMPLE),
    error(CommitRule.TOPICS_FIRST, TXN, 6, NO_GROUP, partition=NO_PARTITION, **ABSENT),
    error(CommitRule.OLDER_PRODUCER_EPOCH, TXN, 6, NONE, metadata="zombie version 6"),
    error(CommitRule.OLDER_PRODUCER_EPOCH, TXN, 0, 1, metadata="zombie version 0"),
    error(CommitRule.GROUP_NOT_FOUND, TXN, 6, GENERATION, **ABSENT),
    error(CommitRule.GROUP_NOT_FOUND, COMMIT, 9, GENERATION, **ABSENT),
    error(CommitRule.GROUP_NOT_FOUND_BEFORE, TXN, 5, NO_GROUP, **ABSENT),
    error(CommitRule.GROUP_NOT_FOUND_BEFORE, COMMIT, 8, NO_GROUP, **ABSENT),
    error(CommitRule.STALE_MEMBER_EPOCH, TXN, 6, GENERATION, **CONSUMER, **NEWER),
    error(CommitRule.STALE_MEMBER_EPOCH, COMMIT, 9, NONE, **CONSUMER, **NEWER),
    error(CommitRule.STALE_MEMBER_EPOCH, TXN, 6, NONE, partition=1, **CONSUMER, **OLDER),
    error(CommitRule.STALE_MEMBER_EPOCH_BEFORE, TXN, 5, STALE, **CONSUMER, **NEWER),
    error(CommitRule.STALE_MEMBER_EPOCH_BEFORE, COMMIT, 8, STALE, **CONSUMER, **CURRENT),
    error(CommitRule.OTHER_GENERATION, TXN, 6, NONE, **CLASSIC, **OLDER),
    error(CommitRule.OTHER_GENERATION, COMMIT, 9, MEMBER, **CLASSIC, **OLDER),
    error(CommitRule.UNKNOWN_MEMBER, COMMIT, 9, GENERATION, member="nobody"),
    error(CommitRule.ACCEPTED_COMMIT, TXN, 6, STALE, **CONSUMER, **CURRENT),
    error(CommitRule.ACCEPTED_COMMIT, COMMIT, 8, UNKNOWN_TOPIC, **SIMPLE),
    error(CommitRule.REFUSED_COMMIT, TXN, 5, GENERATION, **SIMPLE),
    Lie(CommitRule.STORED_COMMIT, TXN, 6, KNOWN | SIMPLE, stored={"committed_epoch": -1}),
    Lie(CommitRule.STORED_COMMIT, COMMIT, 8, KNOWN | SIMPLE, stored={"offset": 0}),
    Lie(CommitRule.STORED_COMMIT, TXN, 6, KNOWN | SIMPLE, stored={"producer_epoch": 7}),
    Lie(CommitRule.STORED_TOPIC_ID, TXN, 6, KNOWN | SIMPLE, stored={"topic_id": None}),
    Lie(CommitRule.STORED_TOPIC_ID, COMMIT, 10, KNOWN | SIMPLE, stored={"topic_id": "other"}),
    Lie(CommitRule.STORED_VERSION, COMMIT, 9, KNOWN | SIMPLE, stored={"value_version": 2}),
    Lie(CommitRule.FETCHED_COMMIT, FETCH, 10, KNOWN, {"committedOffset": 1_000}),
    Lie(CommitRule.FETCHED_COMMIT, FETCH, 8, KNOWN, {"metadata": "another"}),
    Lie(CommitRule.EPOCH_OF_COMMIT, FETCH, 10, KNOWN, {"committedLeaderEpoch": -1}),
    Lie(CommitRule.PENDING_COMMIT, FETCH, 8, KNOWN | {"is_stable": True, "error_code": 88},
        {"errorCode": NONE}),
]  # fmt: skip


def calls_of(event: Row) -> list[Row]:
    """The rows of `wire_calls` of one request."""
    request, response = json.loads(event["request"]), json.loads(event["response"])
    names = {topic_id(): TOPIC}
    found = answers(event["api"], event["version"], request, response, topic_names=names)
    call = {name: value for name, value in event.items() if name not in ("event", "wall_micros")}
    call |= {"worker": "observer", "at_micros": event["wall_micros"]}
    return [call | msgspec.to_builtins(answer) for answer in found]


def topic_id() -> str:
    """The id of the topic."""
    found: str = cluster()["leaderships"][0]["topic_id"]
    return found


def cluster() -> dict[str, list[Row]]:
    """What the cluster had."""
    tables: dict[str, list[Row]] = json.loads((RECORDED / "cluster.json").read_text())
    return tables


def recorded() -> list[list[Row]]:
    """The rows of each request, in order."""
    lines = (RECORDED / "observer.jsonl").read_text().splitlines()
    return [calls_of(json.loads(line)) for line in lines]


def fits(row: Row, lie: Lie) -> bool:
    """Whether a row is about what a lie changes."""
    asked = dict(lie.asked)
    if asked.get("topic") == "an id":
        del asked["topic"]
        asked["topic_id"] = row["topic"]
    return (row["api"], row["version"]) == (lie.api, lie.version) and all(
        row.get(name) == value for name, value in asked.items()
    )


def changed_in(lie: Lie) -> tuple[list[Row], dict[str, list[Row]]]:
    """The requests that show what the cluster had, one that is changed, and the cluster's rows."""
    requests, tables = recorded(), cluster()
    at, row = next((at, row) for at, rows in enumerate(requests) for row in rows if fits(row, lie))
    if lie.response:
        change_response(requests[at], row, lie)
    for stored in tables["committed_offsets"]:
        is_of_it = (stored.get("metadata"), stored["partition"]) == (row["metadata"], 0)
        if lie.stored and is_of_it:
            stored.update(lie.stored)
    shown = [
        one
        for number, rows in enumerate(requests)
        if number == at or rows[0]["api"] in _COPIED or rows[0].get("is_stable")
        for one in rows
    ]
    return shown, tables


def change_response(rows: list[Row], row: Row, lie: Lie) -> None:
    """Change the response about one partition, and what is decoded of it."""
    response = json.loads(row["response"])
    whole = response["groups"][0] if "groups" in response else response
    for topic in whole["topics"]:
        name = topic.get("name") or topic["topicId"]
        for partition in topic["partitions"]:
            is_it = name in (row["topic"], row["topic_id"])
            if is_it and partition["partitionIndex"] == row["partition"]:
                assert partition | lie.response != partition
                partition.update(lie.response)
    told = answers(
        row["api"],
        row["version"],
        json.loads(row["request"]),
        response,
        topic_names={topic_id(): TOPIC},
    )
    for one, answer in zip(rows, told, strict=True):
        one.update({"response": json.dumps(response)} | msgspec.to_builtins(answer))


def copied(number: int, rows: list[Row]) -> list[Row]:
    """Rows as those of groups, producers and a worker of their own."""
    return [row | _own(number, row) for row in rows]


def _own(number: int, row: Row) -> Row:
    own: Row = {
        name: f"{row[name]}-{number}" for name in ("group", "worker") if row.get(name) is not None
    }
    if (row.get("producer_id") or -1) >= 0:
        own["producer_id"] = row["producer_id"] + 100_000 * (number + 1)
    return own


def found_in(
    make_trace: TraceMaker, copies: list[tuple[list[Row], dict[str, list[Row]]]]
) -> Counter[tuple[str, str, str, str]]:
    """The findings, as (worker, check, rule, verdict)."""
    rows: dict[str, list[Row]] = {
        "leaderships": cluster()["leaderships"],
        "clocks": cluster()["clocks"],
        "wire_calls": [],
        "committed_offsets": [],
        "group_members": [],
    }
    for number, (calls, tables) in enumerate(copies):
        rows["wire_calls"] += copied(number, calls)
        for table in ("committed_offsets", "group_members"):
            rows[table] += copied(number, tables[table])
    trace = make_trace(rows)
    checks = {rule.check for rule in COMMIT_RULES.values()}
    return Counter(
        (json.loads(row["evidence"])["worker"], str(check), row["kind"], row["verdict"])
        for check in sorted(checks)
        for row in CHECKS[check].judge(trace).findings.collect()
    )


def test_the_recorded_responses_hold_every_rule(make_trace: TraceMaker) -> None:
    whole = [row for rows in recorded() for row in rows]
    assert found_in(make_trace, [(whole, cluster())]) == Counter()


@pytest.mark.timeout(300)
def test_one_changed_field_breaks_the_rule_that_it_is_about(make_trace: TraceMaker) -> None:
    found = found_in(make_trace, [changed_in(lie) for lie in LIES])
    expected = {
        (f"observer-{number}", str(RULES[lie.rule].check), str(lie.rule), "violation")
        for number, lie in enumerate(LIES)
    }
    assert expected - set(found) == set()


def test_the_verdict_has_the_responses_about_each_rule(make_trace: TraceMaker) -> None:
    tables = {**cluster(), "wire_calls": [row for rows in recorded() for row in rows]}
    verdicts: dict[str, set[str]] = {}
    for row in rule_rows(make_trace(tables)):
        if row.rule in set(CommitRule):
            verdicts.setdefault(row.rule, set()).add(row.verdict)
    assert verdicts == {str(rule): {"holds"} for rule in CommitRule}


def test_every_rule_has_a_changed_field() -> None:
    assert {lie.rule for lie in LIES} == set(CommitRule) == set(COMMIT_RULES)
    assert {rule.check for rule in COMMIT_RULES.values()} == {
        Check.WRONG_COMMIT_ERROR,
        Check.WRONG_STORED_COMMIT,
        Check.WRONG_FETCHED_COMMIT,
    }
