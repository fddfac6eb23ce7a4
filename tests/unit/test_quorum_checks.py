"""Responses of controllers hold every rule; one changed field breaks the rule that it is about."""

import json
from typing import Any

import pytest
from conftest import TraceMaker

from analysis.statements.registry import CHECKS
from contract.protocol import QuorumRule
from contract.terms import Check
from tests.exam.history import History
from tests.exam.quorum_verbs import FENCED, NOT_LEADER, UNKNOWN, controller_called, quorum_divided
from tests.exam.world import Place

Columns = dict[str, Any]
Found = list[tuple[str, str]]

FITTING = {"asked_epoch": 2, "asked_offset": 10}
ACCEPTED = FITTING | {"diverging_epoch": -1, "diverging_offset": -1, "record_bytes": 0}
ENDED = {"asked_epoch": 1, "asked_offset": 8, "diverging_epoch": 1, "diverging_offset": 6}
NON_VOTER = {"request": '{"replicaState":{"replicaId":9999,"replicaEpoch":-1}}'}
REFUSED = {"response": '{"voteGranted":false}', "asked_epoch": 0, "asked_offset": 0}
# Server, API, epoch, error, further columns of a right response, and the rule that it is about.
RIGHT: dict[str, tuple[tuple[int, str, int, int], Columns, QuorumRule]] = {
    "fenced by the leader": ((2, "FETCH", 1, FENCED), {}, QuorumRule.OLDER_EPOCH),
    "fenced by a voter": ((3, "FETCH", 1, FENCED), {}, QuorumRule.OLDER_EPOCH),
    "unknown to the leader": ((2, "FETCH", 3, UNKNOWN), {}, QuorumRule.NEWER_EPOCH),
    "unknown to a voter": ((3, "FETCH", 3, UNKNOWN), {}, QuorumRule.NEWER_EPOCH),
    "not the leader": ((3, "FETCH", 2, NOT_LEADER), FITTING, QuorumRule.NOT_LEADER),
    "accepted": ((2, "FETCH", 2, 0), ACCEPTED, QuorumRule.LEADER_EPOCH),
    "of a non-voter": ((2, "FETCH", 2, 0), ACCEPTED | NON_VOTER, QuorumRule.NON_VOTER),
    "fits": ((2, "FETCH", 2, 0), ACCEPTED, QuorumRule.NO_DIVERGENCE),
    "diverges": ((2, "FETCH", 2, 0), ENDED, QuorumRule.DIVERGENCE),
    "vote": ((3, "VOTE", 1, FENCED), REFUSED, QuorumRule.OLD_VOTE),
    "begin": ((3, "BEGIN_QUORUM_EPOCH", 1, FENCED), {}, QuorumRule.OLD_BEGIN),
    "end": ((3, "END_QUORUM_EPOCH", 1, FENCED), {}, QuorumRule.OLD_END),
}
WRONG: list[tuple[str, Columns]] = [
    ("fenced by the leader", {"error_code": 0}),
    ("fenced by the leader", {"error_code": UNKNOWN}),
    ("fenced by a voter", {"error_code": NOT_LEADER}),
    ("unknown to the leader", {"error_code": FENCED}),
    ("unknown to a voter", {"error_code": NOT_LEADER}),
    ("not the leader", {"error_code": 0}),
    ("accepted", {"error_code": FENCED}),
    ("of a non-voter", {"error_code": NOT_LEADER}),
    ("fits", {"diverging_epoch": 1, "diverging_offset": 6}),
    ("diverges", {"diverging_epoch": -1, "diverging_offset": -1}),
    ("diverges", {"diverging_offset": 7}),
    ("diverges", {"diverging_epoch": 2}),
    ("diverges", {"record_bytes": 100}),
    ("vote", {"error_code": 0}),
    ("vote", {"response": '{"voteGranted":true}'}),
    ("begin", {"error_code": 0}),
    ("end", {"error_code": 0}),
]


def found(make_trace: TraceMaker, name: str, **changed: Any) -> Found:
    """Kind and verdict of what is found of a response in a quorum that was divided."""
    history = History(Place("q", 0))
    quorum_divided(history)
    asked, columns, _ = RIGHT[name]
    controller_called(history, *asked, **columns | changed)
    rows = CHECKS[Check.WRONG_QUORUM_RESPONSE].judge(make_trace(history.rows)).findings.collect()
    return [(row["kind"], row["verdict"]) for row in rows]


@pytest.mark.parametrize("name", RIGHT)
def test_what_controllers_return_holds_every_rule(make_trace: TraceMaker, name: str) -> None:
    assert found(make_trace, name) == []


@pytest.mark.parametrize(("name", "changed"), WRONG, ids=json.dumps)
def test_one_field_breaks_its_rule(make_trace: TraceMaker, name: str, changed: Columns) -> None:
    assert found(make_trace, name, **changed) == [(str(RIGHT[name][2]), "violation")]


@pytest.mark.parametrize("other", [{"leader": 1}, {"epoch": 1}, {"epoch": 1, "leader": 1}])
def test_a_response_has_the_epoch_and_its_leader(make_trace: TraceMaker, other: Columns) -> None:
    assert found(make_trace, "begin", **other) == [(str(QuorumRule.CURRENT_LEADER), "violation")]


def test_every_rule_has_a_response_that_breaks_it() -> None:
    broken = {RIGHT[name][2] for name, _ in WRONG} | {QuorumRule.CURRENT_LEADER}
    assert broken == set(QuorumRule)
