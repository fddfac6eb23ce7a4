"""High watermarks, log starts and small ISRs in histories of a few events."""

from typing import Any

import pytest
from conftest import TraceMaker
from histories import HEALTHY, result
from micro import Row, led, polled, replica, sampled, sent

from contract.checks import Check
from contract.verdicts import CheckVerdict

SECOND = 1_000_000
LED = [led(0, at=10)]
CLEAN = {"unclean_election": False}


@pytest.mark.parametrize(
    ("samples", "plan", "verdict"),
    [
        ([sampled(4, at=SECOND), sampled(5, at=9 * SECOND)], CLEAN, CheckVerdict.HOLDS),
        ([sampled(5, at=SECOND), sampled(4, at=9 * SECOND)], CLEAN, CheckVerdict.VIOLATED),
        ([sampled(5, at=SECOND), sampled(4, at=9 * SECOND)], {}, CheckVerdict.VIOLATED),
        # The second answer may have been on its way when the first one came.
        ([sampled(5, at=8 * SECOND), sampled(4, at=9 * SECOND)], CLEAN, CheckVerdict.HOLDS),
        # A new leader tells none before it knows.
        (
            [sampled(5, at=SECOND), sampled(-1, at=9 * SECOND, epoch=1)],
            CLEAN,
            CheckVerdict.HOLDS,
        ),
        (
            [sampled(5, at=SECOND), sampled(4, at=9 * SECOND, epoch=1)],
            CLEAN,
            CheckVerdict.VIOLATED,
        ),
        ([sampled(5, at=SECOND), sampled(4, at=9 * SECOND, epoch=1)], {}, CheckVerdict.PERMITTED),
        # A zombie goes on telling what it had.
        (
            [sampled(5, at=SECOND, epoch=1), sampled(4, at=9 * SECOND)],
            CLEAN,
            CheckVerdict.HOLDS,
        ),
        ([sampled(-1, at=SECOND)], CLEAN, CheckVerdict.NOT_EVALUABLE),
    ],
)
def test_a_high_watermark_never_goes_back(
    make_trace: TraceMaker, samples: list[Row], plan: dict[str, bool], verdict: CheckVerdict
) -> None:
    rows = {"samples": samples, "leaderships": [*LED, led(1, at=5 * SECOND, leader=2)]}
    assert result(make_trace, Check.HIGH_WATERMARK_REGRESSED, rows, **plan).verdict is verdict


def test_a_high_watermark_that_a_clean_election_lowered(make_trace: TraceMaker) -> None:
    samples = [sampled(5, at=SECOND), sampled(4, at=9 * SECOND, epoch=1)]
    in_sync = [{**LED[0], "isr": [1, 2]}, led(1, at=5 * SECOND, leader=2)]
    rows = {"samples": samples, "leaderships": in_sync}
    found = result(make_trace, Check.HIGH_WATERMARK_REGRESSED, rows, unclean_election=True)
    assert found.verdict is CheckVerdict.VIOLATED


DELETES = {"deletes": True}
HOUR = {"retention_ms": 3_600_000}


@pytest.mark.parametrize(
    ("samples", "plan", "kinds"),
    [
        ([sampled(4, at=SECOND)], {}, []),
        ([sampled(4, at=SECOND, start=2)], DELETES, []),
        ([sampled(4, at=SECOND, start=2)], {}, ["nothing allows deletion"]),
        ([sampled(4, at=SECOND, start=5)], DELETES, ["above the high watermark"]),
        (
            [sampled(4, at=SECOND, start=2), sampled(4, at=9 * SECOND, start=1)],
            DELETES,
            ["went back"],
        ),
        (
            [sampled(4, at=SECOND, start=2), sampled(4, at=9 * SECOND, start=1, epoch=1)],
            DELETES,
            ["went back with its leader"],
        ),
        ([sampled(4, at=3601 * SECOND, start=2)], HOUR, []),
        ([sampled(4, at=3599 * SECOND, start=2)], HOUR, ["younger than retention.ms"]),
    ],
)
def test_only_what_may_go_is_deleted(
    make_trace: TraceMaker, samples: list[Row], plan: dict[str, Any], kinds: list[str]
) -> None:
    rows = {
        "samples": samples,
        "leaderships": LED,
        "log_starts": [replica(0, 4)],
        "sends": sent(0, 1, 2, 3),
    }
    found = result(make_trace, Check.RETENTION_OVERREACH, rows, **plan)
    assert [one.kind for one in found.examples] == kinds
    is_broken = any(one.verdict == "violation" for one in found.examples)
    assert is_broken == (kinds not in ([], ["went back with its leader"]))


@pytest.mark.parametrize(
    ("acks", "at", "isr", "verdict"),
    [
        ("all", 20, [1, 2], CheckVerdict.HOLDS),
        ("all", 20, [1], CheckVerdict.VIOLATED),
        ("all", 12, [1], CheckVerdict.PERMITTED),
        # Before the ISR shrank, or after it had grown again.
        ("all", 9, [1], CheckVerdict.HOLDS),
        ("all", 31, [1], CheckVerdict.HOLDS),
        ("1", 20, [1], CheckVerdict.NOT_EVALUABLE),
    ],
)
def test_acks_all_needs_enough_in_sync(
    make_trace: TraceMaker, acks: str, at: int, isr: list[int], verdict: CheckVerdict
) -> None:
    changes = [(0, [1, 2]), (10, isr), (30, [1, 2])]
    rows = {
        "leaderships": [{**led(0, at=when * SECOND), "isr": then} for when, then in changes],
        "sends": sent(0, acks=acks, at=at * SECOND),
    }
    found = result(make_trace, Check.MIN_INSYNC_BREACHED, rows, min_insync=2)
    assert found.verdict is verdict


@pytest.mark.parametrize(
    ("offset", "at", "plan", "verdict"),
    [
        (3, 9, CLEAN, CheckVerdict.VIOLATED),
        (3, 9, {}, CheckVerdict.PERMITTED),
        # Below where its epoch ends in the log; and while that epoch was in force.
        (1, 9, CLEAN, CheckVerdict.HOLDS),
        (3, 1, CLEAN, CheckVerdict.HOLDS),
    ],
)
def test_a_zombie_serves_what_its_successor_has(
    make_trace: TraceMaker, offset: int, at: int, plan: dict[str, bool], verdict: CheckVerdict
) -> None:
    rows = {
        **HEALTHY,
        "leaderships": [led(0, at=10), led(1, at=2 * SECOND, leader=2)],
        "epoch_checkpoints": [
            {"topic": "t", "partition": 0, "broker": 2, "leader_epoch": epoch, "start_offset": o}
            for epoch, o in ((0, 0), (1, 2))
        ],
        "log_starts": [replica(0, 4, broker=2)],
        "polls": polled(offset, at=at * SECOND),
    }
    found = result(make_trace, Check.SERVED_UNDER_FENCED_EPOCH, rows, **plan)
    served = [one for one in found.examples if one.kind == "served_by_zombie"]
    assert bool(served) == (verdict is not CheckVerdict.HOLDS)
    for one in served:
        assert one.verdict == {"violated": "violation"}.get(verdict, verdict)
