"""ISRs and acknowledgements in histories of a few events."""

from typing import Any

import pytest
from conftest import TraceMaker
from histories import HEALTHY, result
from micro import Row, epochs, led, log_bounds, polled, registered, sent, survived, truncated

from contract.checks import Check
from contract.verdicts import CheckVerdict

SECOND = 1_000_000


@pytest.mark.parametrize(
    ("leaderships", "states", "verdict"),
    [
        # In service while it is in the ISR, and fenced only after it left.
        (
            [led(0, at=10), led(1, at=20, leader=2)],
            [
                registered(fenced=False, at=5),
                registered(fenced=False, at=6, broker=2),
                registered(fenced=True, at=30),
            ],
            CheckVerdict.HOLDS,
        ),
        # Fenced and out of the ISR in one batch, by the last of its records.
        (
            [led(0, at=10), {**led(1, at=20), "isr": [1, 2]}, led(2, at=20, leader=2)],
            [
                registered(fenced=False, at=5),
                registered(fenced=False, at=6, broker=2),
                registered(fenced=True, at=20),
            ],
            CheckVerdict.HOLDS,
        ),
        # Nobody leads: the last ISR is kept, whoever is fenced.
        (
            [led(0, at=10), {**led(1, at=20, leader=-1), "isr": [1]}],
            [registered(fenced=False, at=5), registered(fenced=True, at=20)],
            CheckVerdict.HOLDS,
        ),
        (
            [led(0, at=10), led(1, at=30)],
            [registered(fenced=False, at=5), registered(fenced=True, at=20)],
            CheckVerdict.VIOLATED,
        ),
        ([led(0, at=10)], [registered(fenced=False, at=15)], CheckVerdict.UNDECIDED),
        ([led(0, at=10)], [], CheckVerdict.NOT_EVALUABLE),
    ],
)
def test_a_fenced_broker_has_no_place_in_an_isr(
    make_trace: TraceMaker, leaderships: list[Row], states: list[Row], verdict: CheckVerdict
) -> None:
    records = sorted([*leaderships, *states], key=lambda row: row["at_micros"])
    for offset, row in enumerate(records):
        row["metadata_offset"] = offset
    rows = {**HEALTHY, "leaderships": leaderships, "broker_states": states}
    found = result(make_trace, Check.FENCED_IN_ISR, rows)
    assert found.verdict is verdict
    if verdict is CheckVerdict.VIOLATED:
        (one,) = found.examples
        assert (one.evidence["broker"], one.evidence["fenced_micros"]) == (1, 20)


def zombie(*, acks: str = "all", at: int = 3 * SECOND) -> dict[str, Any]:
    """Epoch 1 began on broker 2 at 2 s, at offset 2; values 2 and 3 were acknowledged as well."""
    later = sent(2, producer="q", at=4 * SECOND)
    return {
        **HEALTHY,
        "sends": [*sent(0, 1), *sent(2, 3, acks=acks, at=at), *later],
        "replica_records": [
            *survived(0, 1, broker=2),
            *survived(2, epoch=1, producer="q", broker=2),
        ],
        "epoch_checkpoints": epochs((0, 0), (1, 2), broker=2),
        "log_starts": log_bounds(0, 3, broker=2),
        "leaderships": [led(0, at=10), led(1, at=2 * SECOND, leader=2)],
        "polls": polled(0, 1),
    }


@pytest.mark.parametrize(
    ("acks", "at", "verdict"),
    [
        ("all", 1_900_000, CheckVerdict.HOLDS),
        ("all", 2_040_000, CheckVerdict.UNDECIDED),
        ("1", 2_040_000, CheckVerdict.HOLDS),
        ("all", 3_000_000, CheckVerdict.VIOLATED),
        ("1", 3_000_000, CheckVerdict.PERMITTED),
        ("0", 3_000_000, CheckVerdict.PERMITTED),
    ],
)
def test_an_acknowledgement_after_the_epochs_end(
    make_trace: TraceMaker, acks: str, at: int, verdict: CheckVerdict
) -> None:
    rows = zombie(acks=acks, at=at)
    # Broker 1 never came back, so that its replica tells the epoch.
    rows["replica_records"] += survived(0, 1, 2, 3)
    rows["log_starts"] += log_bounds(0, 4)
    found = result(make_trace, Check.SERVED_UNDER_FENCED_EPOCH, rows)
    assert found.verdict is verdict
    assert found.evaluated == 5
    for one in found.examples:
        assert (one.kind, one.offset_first, one.offset_last) == ("accepted_by_zombie", 2, 3)
        reported = ("records", "broker", "epoch", "newer_epoch", "seconds_after")
        assert [one.evidence[name] for name in reported] == [2, 1, 0, 1, (at - 2 * SECOND) / SECOND]


def test_a_late_acknowledgement_of_what_the_new_leader_has_breaks_nothing(
    make_trace: TraceMaker,
) -> None:
    rows = {**HEALTHY, **{name: zombie()[name] for name in ("leaderships", "epoch_checkpoints")}}
    rows["sends"] = sent(0, 1, 2, 3, at=3 * SECOND)
    found = result(make_trace, Check.SERVED_UNDER_FENCED_EPOCH, rows)
    assert found.verdict is CheckVerdict.PERMITTED
    # Within the clocks' bound it may not have been late at all, which changes nothing.
    rows["sends"] = sent(0, 1, 2, 3, at=2_040_000)
    found = result(make_trace, Check.SERVED_UNDER_FENCED_EPOCH, rows)
    assert found.verdict is CheckVerdict.HOLDS


def test_a_lost_acknowledgement_is_reported_by_who_has_its_offset(make_trace: TraceMaker) -> None:
    found = result(make_trace, Check.SERVED_UNDER_FENCED_EPOCH, zombie())
    taken, free = found.examples
    assert (taken.verdict, taken.offset_first, taken.evidence["epoch"]) == ("violation", 2, 0)
    assert taken.evidence["broker"] == 1
    # Nobody has offset 3 in the end: epoch 1 may have given it to this very record, and lost it.
    assert (free.verdict, free.offset_first, free.evidence["records"]) == ("undecided", 3, 1)


def test_who_acknowledged_what_was_truncated(make_trace: TraceMaker) -> None:
    """Nobody saw 2 and 3, but broker 1 cut its log to 2 after they were acknowledged."""
    rows = {**zombie(acks="1"), "truncations": [truncated(2, at=5 * SECOND)]}
    found = result(make_trace, Check.SERVED_UNDER_FENCED_EPOCH, rows)
    assert found.verdict is CheckVerdict.PERMITTED
    (one,) = found.examples
    assert (one.offset_first, one.offset_last, one.evidence["known_by"]) == (2, 3, "truncation")
    reported = ("broker", "epoch", "newer_epoch", "seconds_after", "truncated_to")
    assert [one.evidence[name] for name in reported] == [1, 0, 1, 1.0, 2]
    lost = result(make_trace, Check.LOST_RECORD, rows, unclean_election=False)
    assert lost.verdict is CheckVerdict.PERMITTED
    assert lost.summary == (
        "2 acknowledged records lost; permitted (acks=1): 2 truncated at epoch 1 start 2"
    )
    (one,) = lost.examples
    reported = ("acknowledged_epoch", "broker", "truncated_to", "truncated_micros")
    assert [one.evidence[name] for name in reported] == [0, 1, 2, 5 * SECOND]


def test_what_a_replica_held_before_it_was_cut_tells_epoch_and_holder(
    make_trace: TraceMaker,
) -> None:
    """Both followers cut their logs, so no truncation proves who acknowledged."""
    rows = zombie(acks="1")
    rows["truncations"] = [truncated(2, at=5 * SECOND), truncated(2, at=6 * SECOND, broker=2)]
    rows["cut_records"] = [{**one, "taken_micros": 4 * SECOND} for one in survived(2, 3)]
    lost = result(make_trace, Check.LOST_RECORD, rows, unclean_election=False)
    (one,) = lost.examples
    reported = ("known_by", "held_by", "acknowledged_epoch", "broker")
    assert [one.evidence[name] for name in reported] == ["seen", [1], 0, 1]
    assert (one.offset_first, one.offset_last, one.kind) == (2, 3, "truncated")


def test_acks_all_that_a_zombie_truncated_is_a_violation(make_trace: TraceMaker) -> None:
    rows = {**zombie(), "truncations": [truncated(2, at=5 * SECOND)]}
    for check in (Check.SERVED_UNDER_FENCED_EPOCH, Check.LOST_RECORD):
        found = result(make_trace, check, rows, unclean_election=False)
        assert found.verdict is CheckVerdict.VIOLATED


@pytest.mark.parametrize(
    "cuts",
    [
        [],
        [truncated(2, at=2 * SECOND)],
        [truncated(4, at=5 * SECOND)],
        [truncated(2, at=5 * SECOND, broker=3)],
        [truncated(2, at=5 * SECOND), truncated(2, at=6 * SECOND, broker=2)],
    ],
)
def test_what_no_truncation_proves_is_reported_as_a_guess(
    make_trace: TraceMaker, cuts: list[Row]
) -> None:
    """Before the send, above the record, by one that never led, or by both that had led."""
    rows = {**zombie(acks="1"), "truncations": cuts}
    lost = result(make_trace, Check.LOST_RECORD, rows)
    guessed = [one for one in lost.examples if one.evidence["known_by"] == "guess"]
    assert [(one.offset_first, one.offset_last, one.kind) for one in guessed] == [
        (3, 3, "unexplained")
    ]
    assert "assumed" in guessed[0].cause
    late = result(make_trace, Check.SERVED_UNDER_FENCED_EPOCH, rows)
    assert [one.offset_first for one in late.examples] == [2]


def test_a_leaderless_epoch_between_is_nobodys(make_trace: TraceMaker) -> None:
    rows = zombie(acks="1")
    rows["leaderships"] = [
        led(0, at=10),
        led(1, at=SECOND, leader=-1),
        led(2, at=2 * SECOND, leader=2),
    ]
    rows["replica_records"] = [
        *survived(0, 1, broker=2),
        *survived(2, epoch=2, producer="q", broker=2),
    ]
    found = result(make_trace, Check.SERVED_UNDER_FENCED_EPOCH, rows)
    (one,) = [one for one in found.examples if one.verdict == "permitted"]
    assert [one.evidence[name] for name in ("broker", "epoch", "newer_epoch")] == [1, 0, 1]
    assert one.evidence["seconds_after"] == 2.0
