"""Replicas' logs, epochs and high watermarks in histories of a few batches."""

from typing import Any

import pytest
from conftest import TraceMaker
from histories import result
from micro import Row, batch, epochs, led, polled, replica, sampled, sent, survived

from contract.checks import Check
from contract.verdicts import CheckVerdict

SECOND = 1_000_000
CLEAN, UNCLEAN = {"unclean_election": False}, {"unclean_election": True}


def two_replicas(*later: Row, high_watermark: int = 4) -> dict[str, Any]:
    """Brokers 1 and 2 hold batches of 0-1 and 2-3; `later` are further batches."""
    both = [batch(0, 1, broker=broker) for broker in (1, 2)]
    more = [*later] or [batch(2, 3, broker=broker) for broker in (1, 2)]
    ends = {
        broker: max(row["last_offset"] + 1 for row in [*both, *more] if row["broker"] == broker)
        for broker in (1, 2)
    }
    return {
        "replica_batches": [*both, *more],
        "log_starts": [replica(0, ends[broker], broker=broker) for broker in (1, 2)],
        "epoch_checkpoints": [*epochs((0, 0)), *epochs((0, 0), broker=2)],
        "leaderships": [{**led(0, at=10), "isr": [1, 2]}],
        "samples": [sampled(high_watermark, at=5 * SECOND)],
    }


DIFFERENT = (batch(2, 3, broker=1), batch(2, 3, broker=2, checksum=9))


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        (two_replicas(), CheckVerdict.HOLDS),
        (two_replicas(*DIFFERENT), CheckVerdict.VIOLATED),
        # Different, but beyond what anybody knows to be committed.
        (two_replicas(*DIFFERENT, high_watermark=2), CheckVerdict.HOLDS),
        # The same offsets in other batches.
        (
            two_replicas(batch(2, 3, broker=1), batch(2, 2, broker=2), batch(3, 3, broker=2)),
            CheckVerdict.VIOLATED,
        ),
        # One log is shorter: nothing differs.
        (two_replicas(batch(2, 3, broker=1)), CheckVerdict.HOLDS),
    ],
)
def test_replicas_agree_where_both_committed(
    make_trace: TraceMaker, rows: dict[str, Any], verdict: CheckVerdict
) -> None:
    assert result(make_trace, Check.LOG_DIVERGENCE, rows).verdict is verdict


@pytest.mark.parametrize(
    ("checkpoint", "plan", "verdict"),
    [
        (None, CLEAN, CheckVerdict.NOT_EVALUABLE),
        (2, CLEAN, CheckVerdict.HOLDS),
        (4, CLEAN, CheckVerdict.VIOLATED),
        (4, UNCLEAN, CheckVerdict.VIOLATED),
    ],
)
def test_who_is_out_of_sync_is_held_to_what_it_committed(
    make_trace: TraceMaker, checkpoint: int | None, plan: dict[str, bool], verdict: CheckVerdict
) -> None:
    """Broker 2 is down with another tail, below its own high watermark or above it."""
    rows = two_replicas(*DIFFERENT)
    rows["leaderships"] = [led(0, at=10)]
    rows["log_starts"][1]["high_watermark_checkpoint"] = checkpoint
    found = result(make_trace, Check.LOG_DIVERGENCE, rows, **plan)
    assert found.verdict is verdict
    for one in found.examples:
        assert (one.offset_first, one.offset_last) == (2, 3)


def test_who_is_out_of_sync_may_differ_from_where_an_unclean_leader_started(
    make_trace: TraceMaker,
) -> None:
    rows = two_replicas(batch(2, 3, epoch=1), batch(2, 3, broker=2))
    rows["leaderships"] = [led(0, at=10, leader=2), led(1, at=20)]
    rows["epoch_checkpoints"] = [*epochs((0, 0), (1, 2)), *epochs((0, 0), broker=2)]
    rows["log_starts"][1]["high_watermark_checkpoint"] = 4
    rows["samples"] = [sampled(4, at=5 * SECOND, epoch=1)]
    assert result(make_trace, Check.LOG_DIVERGENCE, rows).verdict is CheckVerdict.HOLDS
    found = result(make_trace, Check.LOG_DIVERGENCE, rows, unclean_election=False)
    assert found.verdict is CheckVerdict.VIOLATED


def test_a_clean_election_permits_nothing(make_trace: TraceMaker) -> None:
    """The flag is on; but the new leader was in sync."""
    rows = elected(start=3)
    rows["leaderships"][0]["isr"] = [1, 2]
    found = result(make_trace, Check.LEADER_COMPLETENESS, rows, **UNCLEAN)
    assert found.verdict is CheckVerdict.VIOLATED
    rows["leaderships"] = [led(0, at=10) | {"partition_epoch": 9}, led(3, at=3 * SECOND)]
    rows["epoch_checkpoints"] = epochs((0, 0), (1, 3), broker=2)
    found = result(make_trace, Check.LEADER_COMPLETENESS, rows, **UNCLEAN)
    assert found.verdict is CheckVerdict.UNDECIDED


def test_batches_without_their_records_are_named(make_trace: TraceMaker) -> None:
    rows = two_replicas() | {
        "replica_records": [*survived(0, 1, 2, 3), *survived(0, 1, broker=2)],
    }
    unmatched = "select * from unmatched_replicas"
    (one,) = make_trace(rows).ask(unmatched)
    assert (one["broker"], one["leader_epoch"], one["partition"]) == (2, 0, 0)
    assert (one["offset_first"], one["offset_last"]) == (0, 3)
    assert (one["batched"], one["recorded"]) == (4, 2)
    rows["replica_records"] += survived(2, 3, broker=2)
    assert make_trace(rows).ask(unmatched) == []
    rows["replica_batches"] = rows["replica_batches"][1:]
    (one,) = make_trace(rows).ask(unmatched)
    assert (one["broker"], one["batched"], one["offset_first"]) == (1, 2, 0)


def test_one_replica_alone_agrees_with_nobody(make_trace: TraceMaker) -> None:
    rows = two_replicas()
    rows["replica_batches"] = [row for row in rows["replica_batches"] if row["broker"] == 1]
    rows["log_starts"] = rows["log_starts"][:1]
    assert result(make_trace, Check.LOG_DIVERGENCE, rows).verdict is CheckVerdict.NOT_EVALUABLE


def elected(*, start: int, reported: int = 4) -> dict[str, Any]:
    """Epoch 1 of broker 2 begins at `start`; epoch 0 had told a high watermark."""
    return {
        "leaderships": [led(0, at=10), led(1, at=2 * SECOND, leader=2)],
        "epoch_checkpoints": epochs((0, 0), (1, start), broker=2),
        "log_starts": [replica(0, 6, broker=2)],
        "samples": [sampled(reported, at=SECOND)],
    }


@pytest.mark.parametrize(
    ("rows", "plan", "verdict"),
    [
        (elected(start=4), CLEAN, CheckVerdict.HOLDS),
        (elected(start=3), CLEAN, CheckVerdict.VIOLATED),
        (elected(start=3), UNCLEAN, CheckVerdict.PERMITTED),
        # Nobody had told, but a consumer got record 3.
        (elected(start=3, reported=-1) | {"polls": polled(3)}, CLEAN, CheckVerdict.VIOLATED),
        (elected(start=4, reported=-1) | {"polls": polled(3)}, CLEAN, CheckVerdict.HOLDS),
        # Acknowledged with acks=all, and lost; with acks=1 it was never committed.
        (
            elected(start=3, reported=-1)
            | {"sends": sent(3), "replica_records": survived(3, broker=1)},
            CLEAN,
            CheckVerdict.VIOLATED,
        ),
        (
            elected(start=3, reported=2)
            | {"sends": sent(3, acks="1"), "replica_records": survived(3, broker=1)},
            CLEAN,
            CheckVerdict.HOLDS,
        ),
        (elected(start=4) | {"samples": []}, CLEAN, CheckVerdict.NOT_EVALUABLE),
    ],
)
def test_a_leader_begins_with_all_that_was_committed(
    make_trace: TraceMaker, rows: dict[str, Any], plan: dict[str, bool], verdict: CheckVerdict
) -> None:
    found = result(make_trace, Check.LEADER_COMPLETENESS, rows, **plan)
    assert found.verdict is verdict
    if found.examples:
        (one,) = found.examples
        assert (one.offset_first, one.offset_last) == (3, 3)
        assert (one.evidence["leader"], one.evidence["next_epoch"]) == (2, 1)


@pytest.mark.parametrize(
    ("logs", "leaderships", "verdict"),
    [
        ([replica(0, 4), replica(0, 5, broker=2)], [(0, 1)], CheckVerdict.HOLDS),
        ([replica(0, 4), replica(0, 3, broker=2)], [(0, 1)], CheckVerdict.VIOLATED),
        ([replica(0, 4)], [(0, 1)], CheckVerdict.UNDECIDED),
        # Told in an epoch that was over, or nobody leads.
        ([replica(0, 4), replica(0, 3, broker=2)], [(0, 1), (1, 2)], CheckVerdict.NOT_EVALUABLE),
        ([replica(0, 4), replica(0, 3, broker=2)], [(0, -1)], CheckVerdict.NOT_EVALUABLE),
    ],
)
def test_who_is_in_sync_has_what_is_committed(
    make_trace: TraceMaker,
    logs: list[Row],
    leaderships: list[tuple[int, int]],
    verdict: CheckVerdict,
) -> None:
    rows = {
        "log_starts": logs,
        "leaderships": [
            {**led(epoch, at=10 + epoch, leader=leader), "isr": [1, 2]}
            for epoch, leader in leaderships
        ],
        "samples": [sampled(4, at=SECOND)],
    }
    assert result(make_trace, Check.ISR_INCOMPLETE, rows).verdict is verdict


def test_a_replica_out_of_the_isr_may_end_anywhere(make_trace: TraceMaker) -> None:
    rows = two_replicas(batch(2, 3, broker=1)) | {"leaderships": [led(0, at=10)]}
    found = result(make_trace, Check.ISR_INCOMPLETE, rows)
    assert (found.verdict, found.evaluated) == (CheckVerdict.HOLDS, 1)


@pytest.mark.parametrize(
    ("lines", "plan", "verdict"),
    [
        ([(0, 0), (1, 2)], {}, CheckVerdict.HOLDS),
        # An epoch that wrote nothing yet, and one that was cut off.
        ([(0, 0), (1, 2), (2, 4)], {}, CheckVerdict.HOLDS),
        ([(0, 0), (1, 2), (2, 5)], {}, CheckVerdict.PERMITTED),
        ([(0, 0), (1, 3)], {}, CheckVerdict.VIOLATED),
        ([(0, 0), (1, 1)], {}, CheckVerdict.VIOLATED),
        ([(0, 0)], {}, CheckVerdict.VIOLATED),
        ([(1, 2)], {}, CheckVerdict.VIOLATED),
        # Deleted, in a segment that stays.
        ([(1, 2)], {"deletes": True}, CheckVerdict.HOLDS),
        ([(0, 1), (1, 2)], {"deletes": True}, CheckVerdict.HOLDS),
        ([], {}, CheckVerdict.NOT_EVALUABLE),
    ],
)
def test_the_checkpoint_tells_the_epochs_of_the_batches(
    make_trace: TraceMaker,
    lines: list[tuple[int, int]],
    plan: dict[str, bool],
    verdict: CheckVerdict,
) -> None:
    rows = {
        "replica_batches": [batch(0, 1), batch(2, 3, epoch=1)],
        "log_starts": [replica(0, 4)],
        "epoch_checkpoints": epochs(*lines),
    }
    found = result(make_trace, Check.EPOCH_CACHE_MISMATCH, rows, **plan)
    assert found.verdict is verdict
