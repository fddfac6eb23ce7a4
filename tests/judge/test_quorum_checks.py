"""What the controllers' quorum commits, truncates and returns; one changed field breaks a rule."""

import json
from typing import Any

import pytest
from conftest import TraceMaker
from histories import result
from micro import Row, led

from analysis.statements.registry import CHECKS
from contract.checks import Check
from contract.quorum_rules import QuorumRule
from contract.verdicts import CheckVerdict

VOTERS = (101, 102, 103)
HOLDS, VIOLATED, PERMITTED, UNDECIDED = (
    CheckVerdict.HOLDS,
    CheckVerdict.VIOLATED,
    CheckVerdict.PERMITTED,
    CheckVerdict.UNDECIDED,
)
TAKEN = 10_000_000
FENCED, UNKNOWN, NOT_LEADER, INVALID_REQUEST = 74, 75, 6, 42


def batch(server: int, offset: int, epoch: int, leader: int | None = None, at: int = 0) -> Row:
    return {
        "server": server,
        "base_offset": offset,
        "last_offset": offset,
        "metadata_epoch": epoch,
        "size_bytes": 100,
        "checksum": offset * 100 + epoch,
        "leader": leader,
        "at_micros": at,
    }


def cut(server: int, offset: int, epoch: int) -> Row:
    row = batch(server, offset, epoch)
    del row["at_micros"]
    return row | {"taken_micros": TAKEN}


def sample(
    leader: int, epoch: int, high_watermark: int, *log_ends: int, at: int, **changed: Any
) -> Row:
    return {
        "server": leader,
        "leader": leader,
        "leader_epoch": epoch,
        "high_watermark": high_watermark,
        "voters": list(VOTERS),
        "log_ends": list(log_ends),
        "observers": [1],
        "at_micros": at,
        "asked_micros": at - 1,
    } | changed


def truncated(to: int, at: int = TAKEN + 1_000_000) -> Row:
    return {
        "broker": 101,
        "topic": "__cluster_metadata",
        "partition": 0,
        "to_offset": to,
        "at_micros": at,
        "log_line": "",
    }


LOGS = [
    row
    for server in VOTERS
    for row in (
        batch(server, 0, 1, leader=101),
        *(batch(server, offset, 1) for offset in (1, 2, 3)),
        batch(server, 4, 2, leader=102, at=5_000_000),
        *(batch(server, offset, 2) for offset in (5, 6)),
    )
]
SAMPLES = [
    sample(101, 1, -1, 1, -1, -1, at=1_000),
    sample(101, 1, 3, 4, 3, 3, at=2_000),
    sample(101, 1, 4, 6, 4, 3, at=3_000),
    sample(102, 2, 5, 3, 5, 5, at=6_000_000),
    sample(102, 2, 7, 3, 7, 7, at=7_000_000),
]
DIVIDED: dict[str, list[Row]] = {
    "metadata_batches": LOGS,
    "cut_metadata_batches": [cut(101, 4, 1), cut(101, 5, 1)],
    "quorum_samples": SAMPLES,
    "truncations": [truncated(4)],
    "leaderships": [led(0, at=10)],
}


@pytest.mark.parametrize(
    ("further", "verdict", "kinds"),
    [
        ([], HOLDS, set()),
        ([sample(101, 1, 5, 6, 5, 5, at=4_000)], VIOLATED, {"overwritten", "truncated"}),
        ([sample(102, 2, 9, 9, 9, 9, at=8_000_000)], VIOLATED, {"in no log"}),
    ],
)
def test_committed_metadata_stays(
    make_trace: TraceMaker, further: list[Row], verdict: CheckVerdict, kinds: set[str]
) -> None:
    rows = {**DIVIDED, "quorum_samples": [*SAMPLES, *further]}
    found = result(make_trace, Check.METADATA_LOST, rows)
    assert (found.verdict, {one.kind for one in found.examples}) == (verdict, kinds)


def test_metadata_in_the_logs_of_a_minority_is_undecided(make_trace: TraceMaker) -> None:
    rows = {
        **DIVIDED,
        "metadata_batches": [*LOGS, batch(102, 7, 2)],
        "quorum_samples": [*SAMPLES, sample(102, 2, 8, 8, 8, 8, at=8_000_000)],
    }
    assert result(make_trace, Check.METADATA_LOST, rows).verdict is UNDECIDED


@pytest.mark.parametrize(
    ("last", "verdict", "kind"),
    [
        (sample(102, 2, 8, 3, 9, 8, at=8_000_000), HOLDS, None),
        (sample(102, 2, 8, 3, 9, 7, at=8_000_000), VIOLATED, "not on a majority"),
        # It did not move, and a follower lost its log.
        (sample(102, 2, 7, 3, 9, 0, at=8_000_000), HOLDS, None),
        (sample(102, 2, 8, 0, 9, 7, at=8_000_000), UNDECIDED, "not on a majority"),
        (
            sample(102, 2, 8, 9, 7, 3, 3, at=8_000_000, voters=[*VOTERS, 104]),
            UNDECIDED,
            "not on a majority",
        ),
        (sample(103, 2, 4, 4, 5, 5, at=8_000_000), VIOLATED, "before an entry of the epoch"),
    ],
)
def test_the_high_watermark_moves_over_what_a_majority_has(
    make_trace: TraceMaker, last: Row, verdict: CheckVerdict, kind: str | None
) -> None:
    rows = {**DIVIDED, "quorum_samples": [*SAMPLES, last]}
    found = result(make_trace, Check.EARLY_HIGH_WATERMARK, rows)
    assert (found.verdict, {one.kind for one in found.examples}) == (
        verdict,
        {kind} if kind else set(),
    )
    assert found.evaluated == len(SAMPLES)


@pytest.mark.parametrize(
    ("rounds", "verdict", "kind"),
    [
        ([truncated(4)], PERMITTED, "exact"),
        ([truncated(5), truncated(4, at=TAKEN + 2_000_000)], PERMITTED, "exact"),
        ([truncated(5)], VIOLATED, "too little"),
        ([truncated(3)], VIOLATED, "too much"),
        ([truncated(3), truncated(4, at=TAKEN + 2_000_000)], UNDECIDED, "too much, then less"),
        # It was before the log was copied.
        ([truncated(4, at=TAKEN - 1_000_000)], UNDECIDED, "not logged"),
    ],
)
def test_a_log_is_truncated_to_where_it_departs(
    make_trace: TraceMaker, rounds: list[Row], verdict: CheckVerdict, kind: str
) -> None:
    found = result(make_trace, Check.METADATA_TRUNCATION, {**DIVIDED, "truncations": rounds})
    assert (found.verdict, [one.kind for one in found.examples]) == (verdict, [kind])


def test_each_copy_of_a_log_has_the_rounds_that_follow_it(make_trace: TraceMaker) -> None:
    later = cut(101, 6, 2) | {"taken_micros": 3 * TAKEN}
    rounds = [truncated(5), truncated(4, at=2 * TAKEN), truncated(6, at=4 * TAKEN)]
    rows = {
        **DIVIDED,
        "cut_metadata_batches": [*DIVIDED["cut_metadata_batches"], later],
        "truncations": rounds,
    }
    found = result(make_trace, Check.METADATA_TRUNCATION, rows)
    assert {one.offset_first: one.evidence["rounds"] for one in found.examples} == {4: 2, 6: 1}
    assert found.verdict is PERMITTED


def test_an_epoch_has_one_leader_by_its_own_report_too(make_trace: TraceMaker) -> None:
    assert result(make_trace, Check.METADATA_DIVERGENCE, DIVIDED).verdict is HOLDS
    rows = {**DIVIDED, "quorum_samples": [*SAMPLES, sample(103, 2, -1, 0, 0, 7, at=8_000_000)]}
    found = result(make_trace, Check.METADATA_DIVERGENCE, rows)
    assert [one.kind for one in found.examples] == ["two leaders"]


def call(server: int, api: str, asked: int, error: int, **columns: Any) -> Row:
    return {
        "worker": "observer",
        "seq": 1,
        "broker": server,
        "api": api,
        "api_key": 1,
        "version": 17,
        "topic": "__cluster_metadata",
        "partition": 0,
        "current_leader_epoch": asked,
        "error_code": error,
        "leader": 102,
        "epoch": 2,
        "request": "{}",
        "response": "{}",
        "began_micros": 9_000_000,
        "at_micros": 9_001_000,
    } | columns


FITTING = {"asked_epoch": 2, "asked_offset": 7}
NO_DIVERGENCE = {"diverging_epoch": -1, "diverging_offset": -1, "record_bytes": 0}
ENDED = {"asked_epoch": 1, "asked_offset": 7, "diverging_epoch": 1, "diverging_offset": 4}
NON_VOTER = {"request": '{"replicaState":{"replicaId":9999,"replicaEpoch":-1}}'}
RIGHT: dict[str, tuple[Row, QuorumRule]] = {
    "fenced by the leader": (call(102, "FETCH", 1, FENCED), QuorumRule.OLDER_EPOCH),
    "fenced by a voter": (call(103, "FETCH", 1, FENCED), QuorumRule.OLDER_EPOCH),
    "unknown to the leader": (call(102, "FETCH", 3, UNKNOWN), QuorumRule.NEWER_EPOCH),
    "unknown to a voter": (call(103, "FETCH", 3, UNKNOWN), QuorumRule.NEWER_EPOCH),
    "not the leader": (call(103, "FETCH", 2, NOT_LEADER, **FITTING), QuorumRule.NOT_LEADER),
    "accepted": (
        call(102, "FETCH", 2, 0, **FITTING, **NO_DIVERGENCE),
        QuorumRule.LEADER_EPOCH,
    ),
    "of a non-voter": (
        call(102, "FETCH", 2, 0, **FITTING, **NO_DIVERGENCE, **NON_VOTER),
        QuorumRule.NON_VOTER,
    ),
    "fits": (call(102, "FETCH", 2, 0, **FITTING, **NO_DIVERGENCE), QuorumRule.NO_DIVERGENCE),
    "diverges": (call(102, "FETCH", 2, 0, **ENDED), QuorumRule.DIVERGENCE),
    "vote": (
        call(103, "VOTE", 1, FENCED, response='{"voteGranted":false}'),
        QuorumRule.OLD_VOTE,
    ),
    "begin": (call(103, "BEGIN_QUORUM_EPOCH", 1, FENCED), QuorumRule.OLD_BEGIN),
    "end": (call(103, "END_QUORUM_EPOCH", 1, FENCED), QuorumRule.OLD_END),
}
WRONG: list[tuple[str, Row]] = [
    ("fenced by the leader", {"error_code": 0}),
    ("fenced by the leader", {"error_code": UNKNOWN}),
    ("fenced by a voter", {"error_code": NOT_LEADER}),
    ("unknown to the leader", {"error_code": FENCED}),
    ("unknown to a voter", {"error_code": NOT_LEADER}),
    ("not the leader", {"error_code": 0}),
    ("accepted", {"error_code": FENCED}),
    ("of a non-voter", {"error_code": NOT_LEADER}),
    ("fits", {"diverging_epoch": 1, "diverging_offset": 4}),
    ("diverges", {"diverging_epoch": -1, "diverging_offset": -1}),
    ("diverges", {"diverging_offset": 5}),
    ("diverges", {"diverging_epoch": 2}),
    ("diverges", {"record_bytes": 100}),
    ("vote", {"error_code": 0}),
    ("vote", {"response": '{"voteGranted":true}'}),
    ("begin", {"error_code": 0}),
    ("end", {"error_code": 0}),
]


def kinds(make_trace: TraceMaker, calls: list[Row]) -> dict[int, set[tuple[str, str]]]:
    """By the number of a call: the kinds and verdicts of what is found of it."""
    numbered = [row | {"seq": seq} for seq, row in enumerate(calls)]
    trace = make_trace({**DIVIDED, "wire_calls": numbered})
    found: dict[int, set[tuple[str, str]]] = {}
    for row in CHECKS[Check.WRONG_QUORUM_RESPONSE].judge(trace).findings.collect():
        seq = json.loads(row["evidence"])["seq"]
        found.setdefault(seq, set()).add((row["kind"], row["verdict"]))
    return found


def test_what_controllers_return_holds_every_rule(make_trace: TraceMaker) -> None:
    assert kinds(make_trace, [row for row, _ in RIGHT.values()]) == {}


def test_one_field_breaks_its_rule(make_trace: TraceMaker) -> None:
    found = kinds(make_trace, [RIGHT[name][0] | changed for name, changed in WRONG])
    expected = [{(str(RIGHT[name][1]), "violation")} for name, _ in WRONG]
    assert found == dict(enumerate(expected))


def test_a_response_has_the_epoch_and_its_leader(make_trace: TraceMaker) -> None:
    row, _ = RIGHT["begin"]
    others = [{"leader": 101}, {"epoch": 1}, {"epoch": 1, "leader": 101}]
    found = kinds(make_trace, [row | other for other in others])
    assert found == {seq: {(str(QuorumRule.CURRENT_LEADER), "violation")} for seq in range(3)}


def test_a_vote_of_no_possible_candidate_is_not_judged(make_trace: TraceMaker) -> None:
    """A new quorum is in epoch 1, and refuses epoch 0 as malformed: no entry is older."""
    row, _ = RIGHT["vote"]
    invalid = {"error_code": INVALID_REQUEST}
    calls = [row | invalid | {"asked_epoch": epoch} for epoch in (0, 1)]
    assert kinds(make_trace, calls) == {0: {(str(QuorumRule.OLD_VOTE), "violation")}}


def test_every_rule_has_a_response_that_breaks_it() -> None:
    broken = {RIGHT[name][1] for name, _ in WRONG} | {QuorumRule.CURRENT_LEADER}
    assert broken == set(QuorumRule)


def test_an_epoch_that_the_voter_has_not_shown_is_undecided(make_trace: TraceMaker) -> None:
    row = call(101, "FETCH", 2, UNKNOWN, **FITTING, epoch=None, leader=None)
    assert kinds(make_trace, [row]) == {0: {(str(QuorumRule.NOT_LEADER), "undecided")}}
