"""Commits that deletion overtook, in histories of a few events."""

import pytest
from conftest import Rows, TraceMaker
from histories import HEALTHY, result
from micro import changed, committed, epochs, log_bounds, sampled

from contract.checks import Check

SECOND = 1_000_000
COMMITTED: Rows = {
    **HEALTHY,
    "committed_offsets": [committed(2, 0, at=1 * SECOND)],
    "group_events": [],
    "log_starts": log_bounds(0, 9),
}
EXPIRED = {"log_starts": log_bounds(3, 9), "samples": [sampled(9, start=3, at=5 * SECOND)]}
ASSIGNED = changed("assigned", life=2, at=7 * SECOND)
GONE_ON = [committed(2, 0, at=1 * SECOND), committed(9, 2, at=8 * SECOND)]


@pytest.mark.parametrize(
    ("rows", "plan", "verdict", "evaluated"),
    [
        ({}, {"deletes": True}, "holds", 1),
        ({"log_starts": log_bounds(2, 9)}, {"deletes": True}, "holds", 1),
        (EXPIRED, {"deletes": True}, "permitted", 1),
        (EXPIRED, {"retention_ms": 1}, "permitted", 1),
        (EXPIRED, {}, "violated", 1),
        # The plan deletes, and nothing reports a deletion.
        ({"log_starts": log_bounds(3, 9)}, {"deletes": True}, "undecided", 1),
        # It stood when a member was assigned the partition, though not at the end.
        (
            {**EXPIRED, "committed_offsets": GONE_ON, "group_events": [ASSIGNED]},
            {"deletes": True},
            "permitted",
            2,
        ),
        # It was overtaken only after that; or nothing tells when.
        (
            {
                **EXPIRED,
                "committed_offsets": GONE_ON,
                "group_events": [changed("assigned", life=2, at=4 * SECOND)],
                "samples": [sampled(9, at=3 * SECOND), *EXPIRED["samples"]],
            },
            {"deletes": True},
            "holds",
            2,
        ),
        (
            {
                **EXPIRED,
                "committed_offsets": GONE_ON,
                "group_events": [ASSIGNED],
                "samples": [],
            },
            {"deletes": True},
            "holds",
            1,
        ),
        ({"committed_offsets": []}, {"deletes": True}, "not_evaluable", 0),
    ],
)
def test_a_commit_below_the_log_start_is_expired(
    make_trace: TraceMaker, rows: Rows, plan: dict[str, int], verdict: str, evaluated: int
) -> None:
    found = result(make_trace, Check.COMMIT_EXPIRED, {**COMMITTED, **rows}, **plan)
    assert (found.verdict, found.evaluated) == (verdict, evaluated)


def test_the_headroom_is_told(make_trace: TraceMaker) -> None:
    (one,) = result(
        make_trace, Check.COMMIT_EXPIRED, {**COMMITTED, **EXPIRED}, deletes=True
    ).examples
    assert one.evidence["headroom_seconds"] == 4
    assert (one.evidence["records"], one.kind, one.at) == (1, "at the end", 5 * SECOND)


@pytest.mark.parametrize(
    ("rows", "plan", "verdict"),
    [
        # Epoch 0 is gone; or it still holds the log start.
        ({"epoch_checkpoints": epochs((1, 3), (2, 5))}, {"deletes": True}, "permitted"),
        ({"epoch_checkpoints": epochs((1, 3), (2, 5))}, {}, "violated"),
        ({"epoch_checkpoints": epochs((0, 3), (2, 5))}, {}, "holds"),
        # Nothing was deleted: an epoch without records leaves the cache by itself.
        (
            {"epoch_checkpoints": epochs((1, 0)), "log_starts": log_bounds(0, 9), "samples": []},
            {},
            "holds",
        ),
        ({"committed_offsets": [committed(2, -1)]}, {}, "not_evaluable"),
        ({"epoch_checkpoints": epochs((1, 3)), "committed_offsets": [committed(4, 1)]}, {},
         "holds"),
    ],
)  # fmt: skip
def test_an_epoch_that_left_the_cache_is_expired(
    make_trace: TraceMaker, rows: Rows, plan: dict[str, int], verdict: str
) -> None:
    history = {**COMMITTED, **EXPIRED, **rows}
    assert result(make_trace, Check.COMMITTED_EPOCH_EXPIRED, history, **plan).verdict == verdict
