"""Truncations and resets in histories of a few events."""

from typing import Any

import pytest
from conftest import TraceMaker
from histories import RESET_ON_BRANCH, WENT_BACK, WENT_ON, result
from micro import (
    Row,
    changed,
    committed,
    epoch_started,
    epochs,
    led,
    log_bounds,
    log_started,
    polled,
    reset_reported,
    sampled,
    sent,
    survived,
)

from contract.checks import Check
from contract.verdicts import CheckVerdict


@pytest.mark.parametrize(
    ("notice", "verdict"),
    [
        ({}, CheckVerdict.HOLDS),
        ({"partition": 1}, CheckVerdict.VIOLATED),
        ({"topic": "u"}, CheckVerdict.VIOLATED),
        ({"group": "other"}, CheckVerdict.VIOLATED),
        ({"at_micros": 199_000}, CheckVerdict.VIOLATED),
    ],
)
def test_only_a_notice_of_that_loss_excuses(
    make_trace: TraceMaker, notice: dict[str, Any], verdict: CheckVerdict
) -> None:
    read = [{**row, "polled_micros": row["polled_micros"] * 1000} for row in WENT_ON["polls"]]
    reported = {**reset_reported("truncation", 4, 0, 2, at=500_000), **notice}
    rows = {**WENT_ON, "polls": read, "resets": [reported]}
    assert result(make_trace, Check.TRUNCATION_UNDETECTED, rows).verdict is verdict


@pytest.mark.parametrize(
    ("failure", "verdict"),
    [
        ({"topic": "", "partition": -1}, CheckVerdict.HOLDS),
        ({"partition": 1, "message": "diverged: {t-1=9, t-0=2}"}, CheckVerdict.HOLDS),
        ({"partition": 1, "message": "diverged: {t-1=9, t-01=2}"}, CheckVerdict.VIOLATED),
        ({"at_micros": 199_000}, CheckVerdict.VIOLATED),
    ],
)
def test_an_exception_excuses_the_partitions_that_it_names(
    make_trace: TraceMaker, failure: dict[str, Any], verdict: CheckVerdict
) -> None:
    read = [{**row, "polled_micros": row["polled_micros"] * 1000} for row in WENT_ON["polls"]]
    raised = {**changed("failed", at=500_000, exception="LogTruncationException"), **failure}
    rows = {**WENT_ON, "polls": read, "group_events": [changed("opened", at=150), raised]}
    assert result(make_trace, Check.TRUNCATION_UNDETECTED, rows).verdict is verdict


def test_a_corrupted_value_was_not_truncated(make_trace: TraceMaker) -> None:
    read = [{**row, "is_intact": row["leader_epoch"] > 0} for row in WENT_ON["polls"]]
    rows = {**WENT_ON, "polls": read}
    assert result(make_trace, Check.TRUNCATION_UNDETECTED, rows).verdict is CheckVerdict.HOLDS


@pytest.mark.parametrize(
    ("starts", "verdict"),
    [
        # Epoch 1 started above what is gone, or below: then retention passed the place later.
        (epochs((0, 0), (1, 4)), CheckVerdict.HOLDS),
        (epochs((0, 0), (1, 2)), CheckVerdict.VIOLATED),
    ],
)
def test_what_retention_deleted_was_truncated_if_a_newer_epoch_started_below(
    make_trace: TraceMaker, starts: list[Row], verdict: CheckVerdict
) -> None:
    rows = {**WENT_ON, "log_starts": log_bounds(4, 6), "epoch_checkpoints": starts}
    assert result(make_trace, Check.TRUNCATION_UNDETECTED, rows).verdict is verdict


S = 1_000_000


def of_second(rows: list[Row], second: int) -> list[Row]:
    """Deliveries, at a second of the history."""
    return [{**row, "polled_micros": second * S, "seq": second * S} for row in rows]


# The group read 0-3 of epoch 0, which epoch 1 truncated to 2.
READ_BEFORE = of_second(polled(0, 1, 2, 3), 1)
NOTICE = reset_reported("truncation", 4, 0, 2, at=3 * S)
TWO_TRUNCATIONS: dict[str, Any] = {
    "sends": sent(0, 1, 2, 3),
    "replica_records": [
        *survived(0, 1),
        *survived(2, epoch=1, producer="q"),
        *survived(3, 4, 5, epoch=2, producer="r"),
    ],
    "epoch_checkpoints": epochs((0, 0), (1, 2), (2, 3)),
    "leaderships": [led(0, at=10), led(1, at=2 * S, leader=2), led(2, at=5 * S)],
    "log_starts": log_bounds(0, 6),
    "polls": [
        *READ_BEFORE,
        *of_second(polled(2, 3, epoch=1, producer="q", life=2), 4),
        *of_second(polled(4, 5, epoch=2, producer="r", life=2), 7),
    ],
    "group_events": [changed("opened", at=S // 2)],
}


@pytest.mark.parametrize(
    ("resets", "groups", "epochs_gone"),
    [
        ([NOTICE], [], [1]),
        ([NOTICE, reset_reported("truncation", 4, 1, 3, at=6 * S)], [], []),
        ([reset_reported("truncation", 4, 1, 3, at=6 * S)], [], []),
        # An exception about a position that is not valid is a notice, another one is none.
        ([], ["LogTruncationException"], []),
        ([], ["OFFSET_OUT_OF_RANGE"], []),
        ([], ["TimeoutException"], [1]),
    ],
)
def test_each_truncation_needs_a_notice_of_its_own(
    make_trace: TraceMaker, resets: list[Row], groups: list[str], epochs_gone: list[int]
) -> None:
    raised = [
        {**changed("failed", at=6 * S, life=2, exception=name), "topic": "", "partition": -1}
        for name in groups
    ]
    rows = {
        **TWO_TRUNCATIONS,
        "resets": resets,
        "group_events": [*TWO_TRUNCATIONS["group_events"], *raised],
    }
    found = result(make_trace, Check.TRUNCATION_UNDETECTED, rows)
    assert [one.evidence["gone_epoch"] for one in found.examples] == epochs_gone


def test_a_group_that_resumed_below_what_is_gone_missed_nothing(make_trace: TraceMaker) -> None:
    again = of_second(polled(2, 3, 4, 5, epoch=1, producer="q", life=2), 6)
    rows = {**WENT_ON, "polls": [*READ_BEFORE, *again], "committed_offsets": [committed(2, 0)]}
    assert result(make_trace, Check.TRUNCATION_UNDETECTED, rows).verdict is CheckVerdict.HOLDS


def test_a_style_without_epochs_excuses_no_session(make_trace: TraceMaker) -> None:
    same = [{**row, "member": "g#1"} for row in WENT_ON["polls"]]
    events = [changed("opened", at=150), changed("caught_up", at=650, position=6)]
    rows = {**WENT_ON, "polls": same, "group_events": events}
    found = result(make_trace, Check.TRUNCATION_UNDETECTED, rows, commit_epoch="none")
    assert found.verdict is CheckVerdict.VIOLATED


# Epoch 0 to 199, epoch 1 from 200; the log started at 210 when the group was reset to it.
INSIDE: dict[str, Any] = {
    "polls": of_second(polled(348, 349, epoch=1), 2),
    "committed_offsets": [committed(350, 1, at=2 * S)],
    "group_events": [changed("opened", at=S), changed("opened", life=2, at=5 * S)],
    "leaderships": [led(0, at=10), led(1, at=S)],
    "resets": [reset_reported("truncation", 350, 1, 210, at=6 * S)],
    "samples": [
        sampled(400, epoch=1, at=5 * S, start=210),
        sampled(450, epoch=1, at=8 * S, start=210),
    ],
    "log_starts": log_bounds(210, 450),
    "epoch_checkpoints": epochs((1, 210)),
}
LATER = {
    "log_starts": log_bounds(400, 450),
    "epoch_checkpoints": epochs((1, 400)),
    "log_start_changes": [log_started(210, at=4 * S), log_started(400, at=9 * S)],
}
STALE = {"resets": [reset_reported("truncation", 350, 0, 210, at=6 * S)]}
STARTS = {"leader_epoch_starts": [epoch_started(0, 0, at=10), epoch_started(1, 200, at=S)]}


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ({}, "violated"),
        (LATER, "violated"),
        # Epoch 1 was evicted too, by epoch 2, which began later.
        (
            {
                **LATER,
                "leaderships": [*INSIDE["leaderships"], led(2, at=7 * S)],
                "epoch_checkpoints": epochs((2, 400)),
            },
            "violated",
        ),
        # It began before, and nothing says where: it may have truncated the position.
        (
            {
                **LATER,
                "leaderships": [*INSIDE["leaderships"], led(2, at=3 * S)],
                "samples": [sampled(400, epoch=2, at=5 * S, start=210)],
                "epoch_checkpoints": epochs((2, 400)),
            },
            "undecided",
        ),
        (
            {
                **LATER,
                "leaderships": [*INSIDE["leaderships"], led(2, at=3 * S)],
                "samples": [sampled(400, epoch=2, at=5 * S, start=210)],
                "epoch_checkpoints": epochs((2, 400)),
                "leader_epoch_starts": [epoch_started(2, 380, at=3 * S)],
            },
            "violated",
        ),
        # The epoch ends below the position: a truncation is what the broker has to answer.
        (STALE, "holds"),
        ({**STALE, **LATER}, "holds"),
        ({**STALE, **STARTS}, "holds"),
        ({**STALE, **STARTS, **LATER}, "holds"),
        # The log start passed the position before the reset, or around that time.
        ({"samples": [sampled(400, epoch=1, at=5 * S, start=360)],
          "log_starts": log_bounds(360, 450)}, "holds"),
        ({"samples": [sampled(400, epoch=1, at=5 * S, start=210),
                      sampled(400, epoch=1, at=7 * S, start=360)],
          "log_starts": log_bounds(360, 450)}, "undecided"),
    ],
)  # fmt: skip
def test_a_reset_from_inside_the_log_is_judged_by_the_state_of_its_time(
    make_trace: TraceMaker, rows: dict[str, Any], verdict: str
) -> None:
    found = result(make_trace, Check.UNJUSTIFIED_RESET, {**INSIDE, **rows})
    assert found.verdict == verdict


@pytest.mark.parametrize(("rows", "verdict"), [({}, "violated"), (LATER, "violated")])
def test_a_false_truncation_stays_one_when_retention_passes_the_place(
    make_trace: TraceMaker, rows: dict[str, Any], verdict: str
) -> None:
    assert result(make_trace, Check.FALSE_TRUNCATION, {**INSIDE, **rows}).verdict == verdict


def test_a_reset_is_reported_with_its_magnitude(make_trace: TraceMaker) -> None:
    found = result(make_trace, Check.RESET, WENT_BACK)
    assert found.verdict is CheckVerdict.PERMITTED
    assert found.evaluated == 2
    (one,) = found.examples
    assert (one.kind, one.evidence["records"]) == ("truncation", 2)


def test_a_reset_off_the_surviving_branch_is_justified(make_trace: TraceMaker) -> None:
    assert result(make_trace, Check.UNJUSTIFIED_RESET, WENT_BACK).verdict is CheckVerdict.HOLDS


@pytest.mark.parametrize(
    ("samples", "verdict", "cause"),
    [
        ([sampled(6, epoch=1, at=450)], CheckVerdict.VIOLATED, "surviving branch"),
        ([sampled(3, epoch=1, at=450)], CheckVerdict.UNDECIDED, "but not in a later one"),
        (
            [sampled(3, epoch=1, at=450), sampled(3, epoch=1, at=550), sampled(6, epoch=1, at=700)],
            CheckVerdict.HOLDS,
            "",
        ),
        ([sampled(6, epoch=1, at=550)], CheckVerdict.UNDECIDED, "no sample"),
        ([sampled(6, epoch=0, at=200)], CheckVerdict.UNDECIDED, "no sample"),
        ([sampled(6, epoch=1, at=450, broker=2)], CheckVerdict.UNDECIDED, "no sample"),
        ([sampled(-1, epoch=1, at=450)], CheckVerdict.UNDECIDED, "no sample"),
        ([], CheckVerdict.UNDECIDED, "no sample"),
    ],
)
def test_a_reset_on_the_surviving_branch_is_judged_by_the_log_end_at_the_time(
    make_trace: TraceMaker, samples: list[Row], verdict: CheckVerdict, cause: str
) -> None:
    rows = {**RESET_ON_BRANCH, "samples": samples}
    found = result(make_trace, Check.UNJUSTIFIED_RESET, rows)
    assert found.verdict is verdict
    assert all(cause in one.cause for one in found.examples)


def test_a_reset_without_an_epoch_can_not_be_reported(make_trace: TraceMaker) -> None:
    rows = {
        **WENT_BACK,
        "committed_offsets": [committed(4, -1), committed(4, 1, at=510), committed(3, 1)],
        "resets": [reset_reported("out_of_range", 4, -1, 2)],
        "samples": [sampled(6, epoch=1, at=450)],
    }
    found = result(make_trace, Check.UNJUSTIFIED_RESET, rows)
    assert found.verdict is CheckVerdict.UNDECIDED
    assert "had no leader epoch" in found.examples[0].cause


@pytest.mark.parametrize(("epoch", "verdict"), [(0, "holds"), (1, "violated")])
def test_an_epoch_that_the_client_forgot_is_that_of_the_commit(
    make_trace: TraceMaker, epoch: int, verdict: str
) -> None:
    rows = {
        **WENT_BACK,
        "committed_offsets": [committed(4, epoch), committed(4, -1, at=400)],
        "resets": [reset_reported("out_of_range", 4, -1, 2)],
        "samples": [sampled(6, epoch=1, at=450)],
    }
    found = result(make_trace, Check.UNJUSTIFIED_RESET, rows)
    assert found.verdict == verdict
    assert [one.evidence["from_epoch"] for one in found.examples] == [1] * epoch
