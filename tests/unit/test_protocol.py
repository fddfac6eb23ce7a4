"""Responses of real brokers hold every rule; one changed field breaks the rule that it is about.

`recorded/` is a run of epoch_protocol on Kafka 4.4.0: some of its requests with their responses,
and what its tables have of the partition.
"""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import TraceMaker
from judging import judge

from analysis.statements.registry import CHECKS
from analysis.statements.trace import Trace
from analysis.verdict.rules import reasons_unasked, rule_rows
from contract.events import WireAnswer
from contract.protocol import OFFSETS_FOR_TIMES, RULES, Rule
from contract.terms import Check
from harness.decode.histories import read_histories
from harness.wire.answers import answers

RECORDED = Path(__file__).with_name("recorded")
TOPIC = "orders"
FETCH, LIST, END, METADATA = "FETCH", "LIST_OFFSETS", "OFFSET_FOR_LEADER_EPOCH", "METADATA"
FENCED, UNKNOWN, NOT_LEADER, OUT_OF_RANGE, UNAUTHORIZED = 74, 75, 6, 1, 29
READER, REPLICA, STRANGER = "User:reader", "User:replica", "User:stranger"

Row = dict[str, Any]
Change = Callable[[Row], None]


@dataclass(frozen=True)
class Lie:
    """One field of a recorded response that is changed, and the rule that must notice it."""

    rule: Rule
    api: str
    version: int
    asked: Row
    change: Change
    is_retriable: bool = True


def partition(**fields: Any) -> Change:
    """Change fields of the response's only partition; one that is None is left out."""

    def change(response: Row) -> None:
        (topic,) = response.get("responses") or response["topics"]
        for name, value in fields.items():
            if value is None:
                del topic["partitions"][0][name]
            else:
                topic["partitions"][0][name] = value

    return change


def no_partition(response: Row) -> None:
    (topic,) = response["topics"]
    topic["partitions"].clear()


def no_throttle_time(response: Row) -> None:
    del response["throttleTimeMs"]


def validation_lies(rule: Rule, epoch: int, error: int, **asked: Any) -> list[Lie]:
    """The same lie about each API, at its first and last version with an epoch."""
    return [
        Lie(
            rule,
            api,
            version,
            {"current_leader_epoch": epoch, **asked},
            partition(errorCode=error),
        )
        for api, versions in ((FETCH, (9, 18)), (LIST, (4, 11)), (END, (2, 4)))
        for version in versions
    ]


CURRENT = 3
AT_END = {"current_leader_epoch": CURRENT, "broker": 1}
REMOVED = {"after": True, **AT_END}
LIES = [
    *validation_lies(Rule.OLDER_EPOCH, 2, 0, broker=1),
    *validation_lies(Rule.OLDER_EPOCH, 2, UNKNOWN, broker=1),
    *validation_lies(Rule.NEWER_EPOCH, 4, 0, broker=1),
    *validation_lies(Rule.NEWER_EPOCH, 4, NOT_LEADER, broker=1),
    *validation_lies(Rule.LEADER_EPOCH, 3, FENCED, broker=1),
    *validation_lies(Rule.LEADER_EPOCH, 3, UNKNOWN, broker=1),
    *validation_lies(Rule.NO_EPOCH, -1, FENCED, broker=1),
    Lie(Rule.VERSION_WITHOUT_EPOCH, FETCH, 8, {}, partition(errorCode=FENCED)),
    Lie(Rule.VERSION_WITHOUT_EPOCH, LIST, 3, {}, partition(errorCode=UNKNOWN)),
    Lie(Rule.FOLLOWER, END, 4, {"broker": 2, "current_leader_epoch": 2},
        partition(errorCode=NOT_LEADER)),
    Lie(Rule.FOLLOWER, END, 4, {"broker": 2, "current_leader_epoch": 4},
        partition(errorCode=NOT_LEADER)),
    Lie(Rule.REPLICA, FETCH, 9, {"asked_replica": 2, "current_leader_epoch": 2},
        partition(errorCode=0)),
    Lie(Rule.REPLICA, FETCH, 18, {"asked_replica": 2, "current_leader_epoch": 4},
        partition(errorCode=FENCED)),
    Lie(Rule.REPLICA, END, 4, {"asked_replica": 2, "current_leader_epoch": 2},
        partition(errorCode=UNKNOWN)),
    Lie(Rule.RETRIABLE, FETCH, 9, {"current_leader_epoch": 2}, partition(errorCode=42),
        is_retriable=False),
    Lie(Rule.RETRIABLE, LIST, 11, {"current_leader_epoch": 4}, partition(errorCode=42),
        is_retriable=False),
    Lie(Rule.DESCRIBE, END, 4, {"principal": READER}, partition(errorCode=UNAUTHORIZED)),
    Lie(Rule.CLUSTER_ACTION, END, 4, {"principal": REPLICA}, partition(errorCode=UNAUTHORIZED)),
    Lie(Rule.UNAUTHORIZED, END, 4, {"principal": STRANGER}, partition(errorCode=31)),
    Lie(Rule.UNAUTHORIZED, END, 4, {"principal": STRANGER},
        partition(errorCode=0, leaderEpoch=0, endOffset=50)),
    Lie(Rule.END_OF_LATEST, END, 4, {"asked_epoch": 3, **AT_END}, partition(endOffset=149)),
    Lie(Rule.END_OF_LATEST, END, 4, {"asked_epoch": 3, **AT_END}, partition(endOffset=151)),
    Lie(Rule.END_OF_KNOWN, END, 4, {"asked_epoch": 0, **AT_END}, partition(endOffset=51)),
    Lie(Rule.END_OF_KNOWN, END, 4, {"asked_epoch": 1, **AT_END}, partition(leaderEpoch=0)),
    Lie(Rule.END_OF_SKIPPED, END, 4, {"asked_epoch": 2, **AT_END}, partition(leaderEpoch=2)),
    Lie(Rule.END_OF_SKIPPED, END, 4, {"asked_epoch": 2, **AT_END}, partition(endOffset=150)),
    Lie(Rule.END_OF_REMOVED, END, 4, {"asked_epoch": 0, **REMOVED},
        partition(errorCode=OUT_OF_RANGE, leaderEpoch=-1, endOffset=-1)),
    Lie(Rule.END_OF_REMOVED, END, 4, {"asked_epoch": 0, **REMOVED}, partition(endOffset=50)),
    Lie(Rule.END_OF_UNKNOWN, END, 4, {"asked_epoch": 4, **AT_END},
        partition(leaderEpoch=3, endOffset=150)),
    Lie(Rule.DIVERGENCE, FETCH, 18, {"asked_epoch": 0, "asked_offset": 60},
        partition(divergingEpoch=None)),
    Lie(Rule.DIVERGENCE, FETCH, 12, {"asked_epoch": 0, "asked_offset": 60},
        partition(divergingEpoch={"epoch": 0, "endOffset": 60})),
    Lie(Rule.DIVERGENCE, FETCH, 18, {"asked_epoch": 2, "asked_offset": 100},
        partition(divergingEpoch={"epoch": 0, "endOffset": 100})),
    Lie(Rule.DIVERGENCE, FETCH, 18, {"asked_epoch": 2, "asked_offset": 100},
        partition(recordsSizeInBytes=70)),
    Lie(Rule.NO_DIVERGENCE, FETCH, 12, {"asked_epoch": 1, "asked_offset": 100},
        partition(divergingEpoch={"epoch": 1, "endOffset": 90})),
    Lie(Rule.UNKNOWN_LAST_FETCHED, FETCH, 18, {"asked_epoch": 4}, partition(errorCode=0)),
    Lie(Rule.BELOW_LOG_START, FETCH, 18, {"asked_epoch": 0, "asked_offset": 50, **REMOVED},
        partition(errorCode=0, divergingEpoch={"epoch": 0, "endOffset": 60})),
    Lie(Rule.EPOCH_OF_LEADER, METADATA, 13, {"broker": 1}, partition(leaderEpoch=2)),
    Lie(Rule.EPOCH_OF_LEADER, METADATA, 7, {"broker": 2}, partition(leaderEpoch=-1)),
    Lie(Rule.EPOCH_OF_LEADER, METADATA, 13, {"broker": 3}, partition(leaderEpoch=4)),
    Lie(Rule.EPOCH_OF_OFFSET, LIST, 11, {"asked_timestamp": -2}, partition(leaderEpoch=-1)),
    Lie(Rule.EPOCH_OF_OFFSET, LIST, 11, {"asked_timestamp": 0}, partition(leaderEpoch=1)),
    Lie(Rule.EPOCH_OF_OFFSET, LIST, 11, {"asked_timestamp": -1, **AT_END},
        partition(leaderEpoch=2)),
    Lie(Rule.THROTTLE_TIME, END, 4, {"asked_epoch": 1, **AT_END}, no_throttle_time),
    Lie(Rule.SCHEMA, LIST, 11, {"asked_timestamp": 0}, no_partition),
]  # fmt: skip


@pytest.fixture(scope="module")
def recorded_calls(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    folder = tmp_path_factory.mktemp("recorded")
    shutil.copy(RECORDED / "observer.jsonl", folder)
    rows = read_histories(folder)
    (history,) = rows.of("histories")
    assert history["malformed_lines"] == 0
    calls: list[Row] = list(rows.of("wire_calls"))
    return calls


@pytest.fixture(scope="module")
def cluster() -> dict[str, list[Row]]:
    tables: dict[str, list[Row]] = json.loads((RECORDED / "cluster.json").read_text())
    return tables


def in_partition(rows: list[Row], number: int) -> list[Row]:
    return [{**row, "partition": number} if "partition" in row else row for row in rows]


def change_call(calls: list[Row], lie: Lie) -> list[Row]:
    """The first call that fits, with another response, and what shows the brokers' epochs."""
    asked = dict(lie.asked)
    removed_at = max(row["at_micros"] for row in calls) if asked.pop("after", False) else 0
    fitting = [
        row
        for row in calls
        if (row["api"], row["version"]) == (lie.api, lie.version)
        and all(row[name] == value for name, value in asked.items())
    ]
    chosen = fitting[-1] if removed_at else fitting[0]
    response = json.loads(chosen["response"])
    before = deepcopy(response)
    lie.change(response)
    assert response != before
    names = {topic["topicId"]: TOPIC for topic in _topics(chosen) if "topicId" in topic}
    (answer,) = answers(
        lie.api, lie.version, json.loads(chosen["request"]), response, topic_names=names
    ) or [WireAnswer(topic=TOPIC, partition=0)]
    reported = {name: getattr(answer, name) for name in answer.__struct_fields__}
    lied = {
        **chosen,
        **reported,
        "is_retriable": lie.is_retriable,
        "throttle_ms": response.get("throttleTimeMs"),
        "response": json.dumps(response),
    }
    return [lied, *(row for row in calls if row is not chosen and is_proof(row))]


def is_proof(call: Row) -> bool:
    """Whether a follower shows by it that it has the leader's epoch."""
    return bool(call["broker"] != 1 and call["current_leader_epoch"] == CURRENT)


def _topics(call: Row) -> list[Row]:
    found: list[Row] = json.loads(call["request"])["topics"]
    return found


def found_in(
    make_trace: TraceMaker, cluster: dict[str, list[Row]], partitions: list[list[Row]]
) -> Counter[tuple[int, str, str, str]]:
    """The findings, as (partition, check, rule, verdict)."""
    numbers = range(len(partitions))
    rows = {
        name: [row for number in numbers for row in in_partition(table, number)]
        for name, table in cluster.items()
    }
    rows["wire_calls"] = [
        row for number in numbers for row in in_partition(partitions[number], number)
    ]
    trace = make_trace(rows)
    checks = {rule.check for rule in RULES.values()}
    return Counter(
        (row["partition"], str(check), row["kind"], row["verdict"])
        for check in sorted(checks)
        for row in CHECKS[check].judge(trace).findings.collect()
    )


def test_the_recorded_responses_hold_every_rule(
    make_trace: TraceMaker, cluster: dict[str, list[Row]], recorded_calls: list[Row]
) -> None:
    assert found_in(make_trace, cluster, [recorded_calls]) == Counter()


@pytest.mark.timeout(300)
def test_one_changed_field_breaks_the_rule_that_it_is_about(
    make_trace: TraceMaker, cluster: dict[str, list[Row]], recorded_calls: list[Row]
) -> None:
    found = found_in(make_trace, cluster, [change_call(recorded_calls, lie) for lie in LIES])
    expected = Counter(
        (number, str(RULES[lie.rule].check), str(lie.rule), "violation")
        for number, lie in enumerate(LIES)
    )
    assert expected - found == Counter()
    also = {LIES[number].rule for number, *_ in found - expected}
    also -= {Rule.OLDER_EPOCH, Rule.NEWER_EPOCH}  # they have no epoch to report
    assert also <= {Rule.RETRIABLE}, "another error than that of the epoch"


def as_trace(
    make_trace: TraceMaker, cluster: dict[str, list[Row]], calls: list[Row], **plan: Any
) -> Trace:
    return make_trace({**cluster, "wire_calls": calls}, **plan)


def test_the_verdict_has_the_responses_about_each_rule(
    make_trace: TraceMaker, cluster: dict[str, list[Row]], recorded_calls: list[Row]
) -> None:
    by_rule: dict[str, list[str]] = {}
    rows = rule_rows(as_trace(make_trace, cluster, recorded_calls))
    for row in (response for response in rows if response.rule in set(Rule)):
        by_rule.setdefault(row.rule, []).append(row.verdict)
    # Of the run's requests only some were recorded: those to followers are of one API. There is no
    # version of OffsetForLeaderEpoch without an epoch, and no client looked up times.
    assert by_rule.pop(Rule.VERSION_WITHOUT_EPOCH) == ["holds", "holds", "not asked"]
    assert by_rule.pop(Rule.FOLLOWER) == ["not asked", "not asked", "holds"]
    assert by_rule.pop(Rule.EPOCH_OF_OFFSET) == ["holds", "not asked"]
    assert {verdict for verdicts in by_rule.values() for verdict in verdicts} == {"holds"}
    taken = {Rule.VERSION_WITHOUT_EPOCH, Rule.FOLLOWER, Rule.EPOCH_OF_OFFSET}
    assert set(by_rule) | taken == set(Rule)


def looked_up(call: Row, seq: int, offset: int | None, epoch: int | None) -> Row:
    """A call of a client's `offsetsForTimes` instead of a recorded request."""
    found = {"topic": TOPIC, "partition": 0, "error_code": 0, "offset": offset, "epoch": epoch}
    of_client = {"api": OFFSETS_FOR_TIMES, "version": 0, "broker": -1, "client": "java"}
    return call | dict.fromkeys(WireAnswer.__struct_fields__) | found | of_client | {"seq": seq}


def test_a_client_returns_the_epoch_of_the_record_that_it_finds_by_time(
    make_trace: TraceMaker, cluster: dict[str, list[Row]], recorded_calls: list[Row]
) -> None:
    """Replica 2 still has a record that was deleted; offset 150 is in none."""
    log = [(1, 60, 1), (1, 100, 3), (2, 10, 0), (2, 60, 1), (2, 100, 3)]
    held = [
        {"broker": broker, "topic": TOPIC, "partition": 0, "offset": offset, "value": f"p:{offset}"}
        | {"leader_epoch": epoch}
        for broker, offset, epoch in log
    ]
    found = [(10, 0), (60, 1), (100, 3), (None, None), (60, 3), (60, None), (150, 3)]
    calls = [looked_up(recorded_calls[0], seq, *answer) for seq, answer in enumerate(found)]
    trace = as_trace(make_trace, cluster | {"replica_records": held}, calls)
    rows = CHECKS[Check.WRONG_REPORTED_EPOCH].judge(trace).findings.collect()
    reported = {json.loads(row["evidence"])["seq"]: row["verdict"] for row in rows}
    assert reported == {4: "violation", 5: "violation", 6: "undecided"}
    assert CHECKS[Check.MALFORMED_RESPONSE].judge(trace).findings.collect() == []
    (row,) = [other for other in rule_rows(trace) if other.api == OFFSETS_FOR_TIMES]
    assert (row.rule, row.verdict, row.responses) == (Rule.EPOCH_OF_OFFSET, "violated", 6)


def test_a_check_of_whose_rules_none_has_a_response_leaves_the_run_undecided(
    make_trace: TraceMaker, cluster: dict[str, list[Row]], recorded_calls: list[Row]
) -> None:
    fewer = [
        row for row in recorded_calls if row["asked_epoch"] != CURRENT + 1 or row["api"] != END
    ]
    none = [row for row in recorded_calls if row["api"] != END]
    for calls, doubts in (
        (recorded_calls, []),
        (fewer, []),
        (none, ["no response is about a rule of wrong_epoch_end"]),
    ):
        trace = as_trace(make_trace, cluster, calls, checks=("wrong_epoch_end",))
        assert judge(trace).doubts == doubts


def test_a_run_without_requests_has_no_rules(make_trace: TraceMaker) -> None:
    assert rule_rows(make_trace({})) == []
    assert rule_rows(make_trace({}, missing=("wire_calls",))) == []


def test_a_version_that_no_broker_supports_is_not_applicable(
    make_trace: TraceMaker, cluster: dict[str, list[Row]], recorded_calls: list[Row]
) -> None:
    keys = [{"apiKey": 23, "minVersion": 2, "maxVersion": 4}]
    (call, *_) = recorded_calls
    nothing = dict.fromkeys(WireAnswer.__struct_fields__)
    versions = {**call, **nothing, "api": "API_VERSIONS", "api_key": 18}
    versions |= {"response": json.dumps({"apiKeys": keys})}
    rows = rule_rows(as_trace(make_trace, cluster, [*recorded_calls, versions]))
    (row,) = [
        other for other in rows if other.rule == Rule.VERSION_WITHOUT_EPOCH and other.api == END
    ]
    assert (row.verdict, row.responses, row.versions) == ("not applicable", 0, "")
    assert reasons_unasked([row], [str(check) for check in Check]) == []


def test_every_rule_has_a_changed_field() -> None:
    assert {lie.rule for lie in LIES} == set(Rule) <= set(RULES)
