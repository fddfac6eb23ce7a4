"""What proves, after an election, that a reader's next record was below the high watermark."""

from typing import Any

import pytest
from conftest import TraceMaker
from histories import result
from micro import Row, led, polled, sampled, sent

from contract.checks import Check
from contract.verdicts import CheckVerdict

SECOND = 1_000_000
PROVED, NOT_PROVED = CheckVerdict.VIOLATED, CheckVerdict.PERMITTED
ELECTED = [led(0, at=0), led(1, at=20 * SECOND, leader=2)]
CREATED_AGAIN = [
    led(0, at=0),
    led(1, at=2 * SECOND, leader=2),
    led(0, at=11 * SECOND),
    led(1, at=20 * SECOND, leader=2),
]


def acknowledged(*, sent_at: float, acks: str = "all") -> dict[str, list[Row]]:
    """Offset 2, acknowledged a second after it was sent."""
    (row,) = sent(2, producer="q", acks=acks)
    at = int(sent_at * SECOND)
    return {"sends": [{**row, "intended_micros": at, "answered_micros": at + SECOND}]}


def delivered(offset: int, *, at: int, epoch: int) -> dict[str, list[Row]]:
    """A record that another group was delivered."""
    rows = polled(offset, epoch=epoch, at=at * SECOND)
    return {"polls": [{**row, "group": "other", "member": "other#1"} for row in rows]}


def reported(end: int) -> dict[str, list[Row]]:
    """A high watermark that the new leader reported at second 25."""
    return {"samples": [sampled(end, at=25 * SECOND, epoch=1, broker=2, leader=2)]}


@pytest.mark.parametrize(
    ("more", "leaderships", "verdict"),
    [
        ({}, ELECTED, NOT_PROVED),
        (reported(2), ELECTED, PROVED),
        (reported(1), ELECTED, NOT_PROVED),
        (delivered(2, at=25, epoch=1), ELECTED, PROVED),
        # The old leader may have given it out, and the clock of the reader is not the cluster's.
        (delivered(2, at=25, epoch=0), ELECTED, NOT_PROVED),
        # It is of an earlier topic of this name.
        (delivered(2, at=3, epoch=1), CREATED_AGAIN, NOT_PROVED),
        (acknowledged(sent_at=25), ELECTED, PROVED),
        # The old leader may not have heard of the election.
        (acknowledged(sent_at=24.9), ELECTED, NOT_PROVED),
        (acknowledged(sent_at=25, acks="1"), ELECTED, NOT_PROVED),
    ],
)
def test_a_wait_counts_from_the_first_proof_of_the_new_leader(
    make_trace: TraceMaker,
    more: dict[str, list[Row]],
    leaderships: list[Row],
    verdict: CheckVerdict,
) -> None:
    """Offset 1 is acknowledged at 12, leader 2 elected at 20, and the group gets it at 52.

    A sample proves at 42 that it could: too late for a violation.
    """
    rows: dict[str, Any] = {
        "leaderships": leaderships,
        "sends": [*sent(0, at=9 * SECOND), *sent(1, at=12 * SECOND), *more.get("sends", [])],
        "polls": [
            *polled(0, at=10 * SECOND),
            *polled(1, at=52 * SECOND),
            *more.get("polls", []),
        ],
        "samples": [
            sampled(3, at=42 * SECOND, epoch=1, broker=2, leader=2),
            *more.get("samples", []),
        ],
    }
    assert result(make_trace, Check.FETCH_UNAVAILABLE, rows).verdict is verdict


@pytest.mark.parametrize(
    ("proved_at", "min_insync", "verdict"),
    [
        # Enough replicas were in sync, so it owed the record all the time.
        (None, 1, CheckVerdict.VIOLATED),
        (51, 1, CheckVerdict.VIOLATED),
        # Its high watermark could not advance, until it is proved that it had.
        (None, 2, CheckVerdict.PERMITTED),
        (51, 2, CheckVerdict.PERMITTED),
        (25, 2, CheckVerdict.VIOLATED),
    ],
)
def test_of_a_leader_without_reports_the_isr_decides(
    make_trace: TraceMaker, proved_at: int | None, min_insync: int, verdict: CheckVerdict
) -> None:
    """As before, without the samples. A late delivery to another group excuses nothing."""
    more = {} if proved_at is None else delivered(2, at=proved_at, epoch=1)
    rows: dict[str, Any] = {
        "leaderships": ELECTED,
        "sends": [*sent(0, at=9 * SECOND), *sent(1, at=12 * SECOND)],
        "polls": [
            *polled(0, at=10 * SECOND),
            *polled(1, at=52 * SECOND),
            *more.get("polls", []),
        ],
    }
    told = result(make_trace, Check.FETCH_UNAVAILABLE, rows, min_insync=min_insync)
    assert told.verdict is verdict
