"""What clients report against what is stored and answered, in histories of a few events."""

from typing import Any

import pytest
from conftest import Rows, TraceMaker
from histories import HEALTHY, result
from micro import (
    Row,
    changed,
    committed,
    epochs,
    led,
    log_bounds,
    polled,
    reset_told,
    sampled,
    told_commit,
)

from contract.checks import Check

S = 1_000_000


def asked(offset: int | None, epoch: int = 0, *, outcome: str = "ok", took: int = 10) -> Row:
    """A commit at 5 s as the client reports it; took: milliseconds."""
    row = told_commit(offset or 0, epoch, at=5 * S, outcome=outcome)
    return {**row, "offset": offset, "began_micros": 5 * S - took * 1000}


def stored(offset: int, epoch: int = 0, *, brokers: list[int] | None = None) -> Row:
    """A commit at 5 s as the coordinator stored it."""
    return {**committed(offset, epoch, at=5 * S), "brokers": brokers}


@pytest.mark.parametrize(
    ("commit", "in_log", "verdict", "kind"),
    [
        (asked(2), stored(2), "holds", None),
        (asked(2, outcome="unknown"), stored(2), "holds", None),
        (asked(2, 1), stored(2, 0), "violated", "epoch"),
        (asked(12), stored(2), "violated", "offset"),
        (asked(2, outcome="failed"), stored(2), "violated", "stored though it failed"),
        # It took so long that an attempt before the last one may have been stored.
        (asked(2, outcome="failed", took=500), stored(2), "undecided", "stored though it failed"),
        (
            asked(None, -1, outcome="nothing"),
            stored(2),
            "violated",
            "stored though there was nothing",
        ),
        # What no client reports is a gap of the history.
        (asked(2, outcome="failed"), stored(3), "holds", None),
        ({**asked(2), "committed_micros": S, "began_micros": S}, stored(2), "holds", None),
    ],
)
def test_what_is_stored_is_what_was_asked_for(
    make_trace: TraceMaker, commit: Row, in_log: Row, verdict: str, kind: str | None
) -> None:
    rows = {**HEALTHY, "commits": [commit], "committed_offsets": [in_log]}
    found = result(make_trace, Check.COMMIT_MISMATCH, rows)
    assert found.verdict == verdict
    assert [one.kind for one in found.examples] == ([kind] if kind else [])


@pytest.mark.parametrize(
    ("commit", "ended_by_itself", "verdict"),
    [
        (asked(2), True, "holds"),
        (asked(3), True, "holds"),
        ({**asked(2), "committed_micros": S, "began_micros": S}, True, "undecided"),
        # A kill left no time to report it.
        ({**asked(2), "committed_micros": S, "began_micros": S}, False, "permitted"),
        ({**asked(2), "committed_micros": 9 * S, "began_micros": 8 * S}, False, "undecided"),
    ],
)
def test_a_stored_commit_is_in_a_history(
    make_trace: TraceMaker, *, commit: Row, ended_by_itself: bool, verdict: str
) -> None:
    history = {
        **HEALTHY["histories"][0],
        "worker": commit["worker"],
        "ended_by_itself": ended_by_itself,
    }
    killed = {**HEALTHY["faults"][0], "target_kind": "client", "worker": commit["worker"]}
    rows = {
        **HEALTHY,
        "commits": [commit],
        "committed_offsets": [stored(2)],
        "histories": [history],
        "faults": [killed],
    }
    assert result(make_trace, Check.HISTORY_COMPLETE, rows).verdict == verdict


LED: Rows = {
    "leaderships": [
        {**led(0, at=10), "topic": "__consumer_offsets", "isr": [1, 2]},
        {**led(1, at=6 * S, leader=2), "topic": "__consumer_offsets", "isr": [2]},
    ]
}
UNCLEAN: Rows = {
    "leaderships": [
        {**led(0, at=10), "topic": "__consumer_offsets", "isr": [1]},
        {**led(1, at=6 * S, leader=2), "topic": "__consumer_offsets", "isr": [2]},
    ]
}


@pytest.mark.parametrize(
    ("brokers", "rows", "verdict"),
    [
        ([1, 2], LED, "holds"),
        ([2], LED, "holds"),
        (None, LED, "holds"),
        ([1], LED, "violated"),
        ([1], UNCLEAN, "permitted"),
    ],
)
def test_a_commit_survives_in_a_replica_in_sync(
    make_trace: TraceMaker, brokers: list[int] | None, rows: Rows, verdict: str
) -> None:
    history = {**HEALTHY, "commits": [asked(2)], "committed_offsets": [stored(2, brokers=brokers)]}
    history["leaderships"] = [*HEALTHY["leaderships"], *rows["leaderships"]]
    assert result(make_trace, Check.LOST_COMMIT, history).verdict == verdict


UNLED = [led(0, at=10), led(1, at=S, leader=-1), led(2, at=2 * S, leader=2)]


def raised(**fields: Any) -> Row:
    """A LogTruncationException at 5 s, of position 4."""
    return changed("failed", at=5 * S, position=4, exception="LogTruncationException", **fields)


@pytest.mark.parametrize(
    ("divergent", "rows", "verdict"),
    [
        (2, {}, "holds"),
        (3, {}, "violated"),
        # An epoch without a leader, before the one that started at 2, has no start of its own.
        (3, {"leaderships": UNLED, "epoch_checkpoints": epochs((0, 0), (2, 2))}, "violated"),
        # Retention raised the start of the oldest epoch to the log start.
        (3, {"log_starts": log_bounds(3, 6), "epoch_checkpoints": epochs((1, 3))}, "holds"),
        # Nothing tells which newer epoch there was.
        (3, {"epoch_checkpoints": epochs((0, 0)), "leaderships": [led(0, at=10)]}, "undecided"),
    ],
)
def test_a_divergent_offset_is_where_a_newer_epoch_started(
    make_trace: TraceMaker, divergent: int, rows: Rows, verdict: str
) -> None:
    history = {
        **HEALTHY,
        "polls": polled(0, 1, 2, 3),
        "epoch_checkpoints": epochs((0, 0), (1, 2)),
        "leaderships": [led(0, at=10), led(1, at=S, leader=2)],
        "log_starts": log_bounds(0, 6),
        "group_events": [changed("opened", at=150), raised(divergent_offset=divergent)],
        **rows,
    }
    assert result(make_trace, Check.DIVERGENCE_MISMATCH, history).verdict == verdict


@pytest.mark.parametrize(("divergent", "verdict"), [(3, "holds"), (2, "violated")])
def test_a_position_of_the_newest_epoch_diverges_at_the_log_end(
    make_trace: TraceMaker, divergent: int, verdict: str
) -> None:
    history = {
        **HEALTHY,
        "epoch_checkpoints": epochs((0, 0), (1, 2)),
        "leaderships": [led(0, at=10), led(1, at=S, leader=2)],
        "samples": [
            sampled(3, at=2 * S, epoch=1, broker=2, leader=2),
            sampled(3, at=6 * S, epoch=1, broker=2, leader=2),
        ],
        "group_events": [raised(divergent_offset=divergent, divergent_epoch=1, position_epoch=1)],
    }
    assert result(make_trace, Check.DIVERGENCE_MISMATCH, history).verdict == verdict


@pytest.mark.parametrize(
    ("generations", "verdict"), [((3, 3), "violated"), ((3, 4), "holds"), ((-1, -1), "undecided")]
)
def test_two_members_own_no_partition_in_one_generation(
    make_trace: TraceMaker, generations: tuple[int, int], verdict: str
) -> None:
    first, second = generations
    rows = {
        **HEALTHY,
        "polls": [*polled(0, 1, at=200), *polled(2, at=600), *polled(2, 3, life=2, at=400)],
        "group_events": [
            changed("assigned", at=100, position=0, generation=first),
            changed("assigned", life=2, at=300, position=2, generation=second),
        ],
        "faults": [],
    }
    assert result(make_trace, Check.DOUBLE_OWNERSHIP, rows).verdict == verdict


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        # The first position, or the policy, says that the group began at 0.
        ({"group_events": [changed("assigned", at=150, position=0)]}, "violated"),
        ({}, "violated"),
        ({"committed_offsets": [committed(2, 0, at=100)]}, "holds"),
    ],
)
def test_a_group_owes_what_lies_before_its_first_delivery(
    make_trace: TraceMaker, rows: Rows, verdict: str
) -> None:
    history = {
        **HEALTHY,
        "polls": polled(2, 3),
        "committed_offsets": [],
        "resets": [],
        "group_events": [changed("opened", at=140)],
        **rows,
    }
    assert result(make_trace, Check.SKIPPED_RECORD, history).verdict == verdict


def test_a_style_without_epochs_excuses_no_skip_without_a_truncation(
    make_trace: TraceMaker,
) -> None:
    rows = {**HEALTHY, "polls": polled(0, 3)}
    found = result(make_trace, Check.SKIPPED_RECORD, rows, commit_epoch="none")
    assert found.verdict == "violated"


@pytest.mark.parametrize(("divergent", "verdict"), [(2, "holds"), (3, "violated")])
def test_a_truncation_is_judged_by_its_own_epoch_where_the_position_is_not_reported(
    make_trace: TraceMaker, divergent: int, verdict: str
) -> None:
    failed = raised(divergent_offset=divergent, divergent_epoch=0)
    history = {
        **HEALTHY,
        "epoch_checkpoints": epochs((0, 0), (1, 2)),
        "leaderships": [led(0, at=10), led(1, at=S, leader=2)],
        "log_starts": log_bounds(0, 6),
        "group_events": [{**failed, "position": None}],
    }
    assert result(make_trace, Check.DIVERGENCE_MISMATCH, history).verdict == verdict


@pytest.mark.parametrize(
    ("client", "in_log", "more", "verdict", "kind"),
    [
        ("librdkafka", committed(1, 1, at=100), {}, "violated", "behind a newer epoch"),
        ("librdkafka", committed(5, 0, at=100), {}, "violated", "behind a larger offset"),
        ("librdkafka", committed(5, -1, at=100), {}, "violated", "behind a larger offset"),
        ("librdkafka", committed(1, 0, at=100), {}, "permitted", "nothing to commit"),
        ("java", committed(1, 1, at=100), {}, "permitted", "nothing to commit"),
        # Its position is stored; it was assigned anew; and a reset moved it.
        ("librdkafka", committed(2, 0, at=100), {}, "holds", None),
        (
            "librdkafka",
            committed(1, 1, at=100),
            {"group_events": [changed("assigned", at=250, position=1)]},
            "holds",
            None,
        ),
        (
            "librdkafka",
            committed(1, 1, at=100),
            {"resets": [reset_told("truncation", 2, 0, 1, life=1, at=250)]},
            "holds",
            None,
        ),
    ],
)
def test_a_position_that_moved_is_committed(
    make_trace: TraceMaker, client: str, in_log: Row, more: Rows, verdict: str, kind: str | None
) -> None:
    nothing = {**told_commit(0, -1, outcome="nothing"), "offset": None}
    none: Rows = {"group_events": [], "resets": []}
    rows = {
        **HEALTHY,
        **none,
        "polls": polled(0, 1),
        "commits": [nothing],
        "committed_offsets": [in_log],
        **more,
    }
    found = result(make_trace, Check.WITHHELD_COMMIT, rows, client=client)
    assert (found.verdict, found.evaluated) == (verdict, 1)
    assert [one.kind for one in found.examples] == ([kind] if kind else [])
