"""Committed offsets against deliveries and the log, in histories of a few events."""

import pytest
from conftest import Rows, TraceMaker
from histories import HEALTHY, result
from micro import (
    Row,
    committed,
    epochs,
    led,
    log_bounds,
    polled,
    reset_told,
    sampled,
    survived,
    told_commit,
)

from contract.checks import Check

MS = 1000
READ: Rows = {
    **HEALTHY,
    "polls": polled(0, 1, 2, 3),
    "commits": [told_commit(2), told_commit(4)],
    "committed_offsets": [committed(2, 0, at=300), committed(4, 0, at=400)],
    "resets": [],
}
BACK = [committed(4, 0, at=300 * MS), committed(2, 0, at=400 * MS)]


@pytest.mark.parametrize(
    ("commits", "rows", "verdict", "evaluated"),
    [
        (READ["committed_offsets"], {}, "holds", 1),
        ([committed(4, 0), committed(4, 0, at=400)], {}, "holds", 1),
        ([committed(4, 0)], {}, "not_evaluable", 0),
        (BACK, {}, "violated", 1),
        # A reset in between led there, or below.
        (BACK, {"resets": [reset_told("truncation", 4, 0, 2, at=350 * MS)]}, "permitted", 1),
        (BACK, {"resets": [reset_told("out_of_range", 4, 0, 1, at=350 * MS)]}, "permitted", 1),
        # It led elsewhere, came before both, raised, or was another partition's.
        (BACK, {"resets": [reset_told("truncation", 4, 0, 3, at=350 * MS)]}, "violated", 1),
        (BACK, {"resets": [reset_told("truncation", 4, 0, 2, at=250 * MS)]}, "violated", 1),
        (BACK, {"resets": [reset_told("truncation", 4, 0, None, at=350 * MS)]}, "violated", 1),
        (
            BACK,
            {"resets": [{**reset_told("truncation", 4, 0, 2, at=350 * MS), "partition": 1}]},
            "violated",
            1,
        ),
        (BACK, {"commits": [told_commit(2, outcome="unknown")]}, "undecided", 1),
        (BACK, {"commits": [told_commit(4, outcome="unknown")]}, "undecided", 1),
        (BACK, {"commits": [told_commit(3, outcome="unknown")]}, "violated", 1),
        # Deleted in between; another group; of a transaction, which may have been aborted.
        ([BACK[0], {**committed(0, 0, at=350 * MS), "offset": None, "is_tombstone": True},
          BACK[1]], {}, "not_evaluable", 0),
        ([BACK[0], {**BACK[1], "group": "other"}], {}, "not_evaluable", 0),
        ([{**BACK[0], "producer_id": 7}, BACK[1]], {}, "not_evaluable", 0),
        ([{**row, "producer_id": 7} for row in BACK], {}, "not_evaluable", 0),
    ],
)  # fmt: skip
def test_an_offset_goes_back_only_by_a_reset(
    make_trace: TraceMaker, commits: list[Row], rows: Rows, verdict: str, evaluated: int
) -> None:
    found = result(
        make_trace, Check.COMMIT_REGRESSED, {**READ, "committed_offsets": commits, **rows}
    )
    assert (found.verdict, found.evaluated) == (verdict, evaluated)


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ({}, "holds"),
        ({"polls": polled(0, 1)}, "violated"),
        ({"polls": [{**row, "group": "other"} for row in polled(0, 1, 2, 3)]}, "violated"),
        ({"polls": [*polled(0, 1, 2), *polled(3, at=500 * MS)]}, "violated"),
        # Reset there, e.g. by `latest`; or resumed there, and committed it again.
        (
            {"polls": polled(0, 1), "resets": [reset_told("no_commit", 0, -1, 4, at=290)]},
            "permitted",
        ),
        ({"polls": polled(0, 1), "resets": [reset_told("no_commit", 0, -1, 3)]}, "violated"),
        # The log has no record there: a marker of a transaction, or nothing at all any more.
        ({"polls": polled(0, 1), "replica_records": survived(0, 1, 2)}, "holds"),
    ],
)
def test_what_is_committed_was_delivered(make_trace: TraceMaker, rows: Rows, verdict: str) -> None:
    found = result(make_trace, Check.COMMIT_BEYOND_PROCESSED, {**READ, **rows})
    assert found.verdict == verdict
    assert (found.findings > 0) == (verdict != "holds")


def test_only_the_first_commit_beyond_is_told(make_trace: TraceMaker) -> None:
    rows = {**READ, "polls": polled(0, 1)}
    rows["committed_offsets"] = [*READ["committed_offsets"], committed(4, 0, at=500)]
    found = result(make_trace, Check.COMMIT_BEYOND_PROCESSED, rows)
    assert (found.findings, found.evaluated) == (1, 3)


@pytest.mark.parametrize(
    ("isolation", "verdict"), [("read_committed", "holds"), ("read_uncommitted", "violated")]
)
def test_an_aborted_record_before_the_commit_is_not_for_all(
    make_trace: TraceMaker, isolation: str, verdict: str
) -> None:
    sends = [{**row, "transaction": 0} for row in HEALTHY["sends"]]
    rows = {**READ, "sends": sends, "polls": polled(0, 1)}
    found = result(make_trace, Check.COMMIT_BEYOND_PROCESSED, rows, isolation=isolation)
    assert found.verdict == verdict


BEYOND: Rows = {**READ, "committed_offsets": [committed(9, 0, at=300 * MS)]}
UNCLEAN = [led(0, at=10), led(1, at=500 * MS, leader=2)]
NEXT = [{**UNCLEAN[0], "isr": [1, 2]}, UNCLEAN[1]]


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ({"committed_offsets": READ["committed_offsets"]}, "holds"),
        # Only the end of the run, or a later sample, tells where the log ended.
        ({}, "violated"),
        ({"samples": [sampled(4, at=900 * MS)], "log_starts": log_bounds(0, 20)}, "violated"),
        ({"samples": [sampled(9, at=900 * MS)]}, "holds"),
        ({"samples": [sampled(4, at=200 * MS)], "log_starts": log_bounds(0, 20)}, "holds"),
        # A newer leader: the epoch's end is known where the branch goes on from it.
        ({"leaderships": NEXT, "epoch_checkpoints": epochs((0, 0), (1, 4))}, "violated"),
        ({"leaderships": NEXT, "epoch_checkpoints": epochs((0, 0), (1, 9))}, "holds"),
        # unclean.leader.election.enable: what the log had beyond it may be lost.
        ({"leaderships": UNCLEAN, "epoch_checkpoints": epochs((0, 0), (1, 4))}, "permitted"),
        ({"leaderships": NEXT, "epoch_checkpoints": epochs((0, 0))}, "undecided"),
        # What was delivered was in the log, whatever became of it; so was where a reset led.
        ({"polls": polled(8)}, "holds"),
        ({"resets": [reset_told("no_commit", 0, -1, 9, at=200 * MS)]}, "holds"),
    ],
)
def test_a_commit_lies_within_the_log(make_trace: TraceMaker, rows: Rows, verdict: str) -> None:
    found = result(make_trace, Check.COMMIT_BEYOND_LOG, {**BEYOND, **rows})
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("rows", "verdict", "evaluated"),
    [
        ({}, "holds", 2),
        ({"commits": [told_commit(2), told_commit(3)]}, "undecided", 2),
        ({"commits": [told_commit(2), told_commit(3, at=900 * MS)]}, "violated", 2),
        ({"committed_offsets": [committed(2, 0)]}, "violated", 2),
        ({"committed_offsets": []}, "violated", 2),
        ({"commits": [told_commit(3, outcome="failed")]}, "not_evaluable", 0),
        ({"commits": [told_commit(3, outcome="unknown")]}, "not_evaluable", 0),
    ],
)
def test_an_acknowledged_commit_is_stored(
    make_trace: TraceMaker, rows: Rows, verdict: str, evaluated: int
) -> None:
    later = [committed(2, 0), committed(4, 0, at=200 * MS)]
    acknowledged = [told_commit(2), told_commit(4, at=200 * MS)]
    history = {**READ, "commits": acknowledged, "committed_offsets": later, **rows}
    found = result(make_trace, Check.LOST_COMMIT, history)
    assert (found.verdict, found.evaluated) == (verdict, evaluated)
