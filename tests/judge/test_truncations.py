"""Truncations: noticed, invented, too deep, and what they cost, in histories of a few events."""

from typing import Any

import pytest
from conftest import Rows, TraceMaker
from histories import HEALTHY, LEFT_BEHIND, TRUNCATED, WENT_BACK, WENT_ON, result
from micro import (
    Row,
    epochs,
    led,
    log_bounds,
    polled,
    reset_reported,
    sampled,
    sent,
    survived,
    truncated,
)

from contract.checks import Check

MS = 1000


@pytest.mark.parametrize(
    ("resets", "verdict", "kind"),
    [
        ([reset_reported("truncation", 4, 0, 2)], "permitted", "at the divergence"),
        ([reset_reported("truncation", 4, 0, 3)], "permitted", "elsewhere"),
        ([reset_reported("truncation", 4, 0, None)], "permitted", "raised"),
        # No truncation, or none of that position.
        ([reset_reported("out_of_range", 4, 0, 2)], "holds", None),
        ([reset_reported("truncation", 2, 0, 2)], "holds", None),
        ([reset_reported("truncation", 4, 1, 2)], "holds", None),
        ([], "holds", None),
    ],
)
def test_a_noticed_truncation_is_reported(
    make_trace: TraceMaker, resets: list[Row], verdict: str, kind: str | None
) -> None:
    found = result(make_trace, Check.TRUNCATION_DETECTED, {**WENT_BACK, "resets": resets})
    assert (found.verdict, found.evaluated) == (verdict, 2)
    assert [one.kind for one in found.examples] == ([kind] if kind else [])


def test_a_noticed_truncation_has_its_latency(make_trace: TraceMaker) -> None:
    rows = {**WENT_BACK, "resets": [reset_reported("truncation", 4, 0, 2, at=3250)]}
    (one,) = result(make_trace, Check.TRUNCATION_DETECTED, rows).examples
    assert (one.evidence["latency_ms"], one.evidence["records"]) == (3, 2)
    assert (one.offset_first, one.offset_last) == (2, 4)


@pytest.mark.parametrize(
    ("report", "polls", "verdict", "kind"),
    [
        (reset_reported("truncation", 4, 0, 2), WENT_BACK["polls"], "holds", None),
        (reset_reported("truncation", 5, 1, 2, at=700), WENT_BACK["polls"], "violated",
         "position intact"),
        # Its epoch was stale: the record before was read under a later one, and is there.
        (reset_reported("truncation", 6, 0, 2, at=700), WENT_BACK["polls"], "violated",
         "stale epoch"),
        (reset_reported("truncation", 6, 0, 2, at=550), WENT_BACK["polls"], "holds", None),
        (reset_reported("truncation", 6, -1, 2, at=700), WENT_BACK["polls"], "violated",
         "stale epoch"),
        (reset_reported("truncation", 6, -1, 2, at=700), polled(0), "undecided", "unread"),
        (reset_reported("truncation", 6, 0, 2, at=700), polled(0), "holds", None),
        (reset_reported("truncation", 6, 1, 2, at=700), polled(0), "undecided", "unread"),
        # What it read was truncated, though the position had the new epoch.
        (reset_reported("truncation", 4, 1, 2, at=500), WENT_BACK["polls"], "holds", None),
        # Beyond the log's end, or another cause.
        (reset_reported("truncation", 9, 1, 2, at=700), WENT_BACK["polls"], "holds", None),
        (reset_reported("out_of_range", 5, 1, 2, at=700), WENT_BACK["polls"], "holds", None),
    ],
)  # fmt: skip
def test_a_truncation_is_reported_for_cause(
    make_trace: TraceMaker, report: Row, polls: list[Row], verdict: str, kind: str | None
) -> None:
    rows = {**WENT_BACK, "polls": polls, "resets": [report]}
    found = result(make_trace, Check.FALSE_TRUNCATION, rows)
    assert (found.verdict, found.evaluated) == (verdict, 2)
    assert [one.kind for one in found.examples] == ([kind] if kind else [])


# Broker 1 led epoch 0 and wrote 0 to 3; broker 2 leads epoch 1 from 4 on.
HANDED_OVER: Rows = {
    **HEALTHY,
    "sends": sent(0, 1, 2, 3, at=100 * MS),
    "epoch_checkpoints": epochs((0, 0), (1, 4)),
    "log_starts": log_bounds(0, 6),
    "leaderships": [
        {**led(0, at=10), "isr": [1, 2, 3]},
        {**led(1, at=500 * MS, leader=2), "isr": [2, 3]},
    ],
    "truncations": [truncated(4, at=700 * MS)],
}


@pytest.mark.parametrize(
    ("rows", "verdict", "span"),
    [
        ({}, "holds", None),
        ({"truncations": [truncated(2, at=700 * MS)]}, "violated", (2, 3)),
        # It led only later, or leads still.
        ({"truncations": [truncated(2, at=400 * MS)]}, "holds", None),
        # Cut where the branches part, as it should be: epoch 1 began at 2.
        (
            {
                "truncations": [truncated(2, at=700 * MS)],
                "epoch_checkpoints": epochs((0, 0), (1, 2)),
            },
            "holds",
            None,
        ),
        # A follower had what was acknowledged while it was in the ISR, and only that.
        ({"truncations": [truncated(2, at=700 * MS, broker=3)]}, "violated", (2, 3)),
        ({"truncations": [truncated(2, at=700 * MS, broker=4)]}, "holds", None),
        (
            {
                "truncations": [truncated(2, at=700 * MS, broker=3)],
                "sends": sent(0, 1, 2, 3, acks="1", at=100 * MS),
            },
            "holds",
            None,
        ),
        (
            {
                "truncations": [truncated(2, at=700 * MS, broker=3)],
                "sends": sent(0, 1, 2, 3, at=480 * MS),
            },
            "holds",
            None,
        ),
        (
            {
                "truncations": [truncated(2, at=700 * MS, broker=3)],
                "replica_records": survived(0, 1),
            },
            "holds",
            None,
        ),
        ({"truncations": []}, "not_evaluable", None),
    ],
)
def test_a_replica_is_cut_where_it_diverged(
    make_trace: TraceMaker, rows: Rows, verdict: str, span: tuple[int, int] | None
) -> None:
    found = result(make_trace, Check.OVER_TRUNCATION, {**HANDED_OVER, **rows})
    assert found.verdict == verdict
    spans = [(one.offset_first, one.offset_last) for one in found.examples]
    assert spans == ([span] if span else [])


@pytest.mark.parametrize(
    ("rows", "commit_epoch", "verdict", "evaluated"),
    [
        (WENT_ON, "record", "violated", 1),
        (WENT_ON, "forced", "violated", 1),
        (WENT_ON, "none", "permitted", 1),
        (WENT_BACK, "record", "holds", 1),
        ({**WENT_ON, "resets": [reset_reported("truncation", 4, 0, 4)]}, "record", "holds", 1),
        # Told before it had read them; or the branch was left above its position.
        (
            {**WENT_ON, "resets": [reset_reported("truncation", 4, 0, 4, at=-MS)]},
            "record",
            "violated",
            1,
        ),
        ({**WENT_ON, "epoch_checkpoints": epochs((0, 0), (1, 4))}, "record", "holds", 1),
        ({**WENT_ON, "polls": polled(0, 1, 2, 3)}, "record", "not_evaluable", 0),
        # One poll returned records of two epochs, before the second was truncated.
        (
            {
                **WENT_ON,
                "epoch_checkpoints": epochs((0, 0), (2, 2)),
                "polls": [
                    *polled(2, 3, epoch=1),
                    *polled(0, 1),
                    *polled(4, 5, epoch=2, producer="q", life=2, at=600),
                ],
            },
            "record",
            "violated",
            2,
        ),
    ],
)
def test_a_position_does_not_become_valid_by_accident(
    make_trace: TraceMaker, rows: Rows, commit_epoch: str, verdict: str, evaluated: int
) -> None:
    found = result(make_trace, Check.SILENT_REVALIDATION, rows, commit_epoch=commit_epoch)
    assert (found.verdict, found.evaluated) == (verdict, evaluated)
    assert all(one.evidence["appended"] == 2 for one in found.examples)


HELD = {
    "broker": 1,
    "topic": "t",
    "partition": 0,
    "base_offset": 2,
    "last_offset": 4,
    "leader_epoch": 0,
    "taken_micros": 240,
}


@pytest.mark.parametrize(
    ("rows", "kind", "estimate"),
    [
        # Known from a replica that was left behind, a delivery, or the old leader's own words.
        (LEFT_BEHIND, "exact", (2, 2, "replica")),
        ({**TRUNCATED, "polls": polled(0, 1, 2, 3)}, "exact", (2, 2, "poll")),
        ({**TRUNCATED, "cut_batches": [HELD]}, "more than acknowledged", (3, 2, "replica")),
        ({**TRUNCATED, "samples": [sampled(7, at=200)]}, "more than acknowledged",
         (5, 2, "sample")),
        ({**TRUNCATED, "polls": polled(0, 1, 2)}, "exact", (2, 2, "acknowledgement")),
        # Told by who did not lead; or nothing beyond the fork.
        ({**TRUNCATED, "samples": [sampled(7, at=200, broker=2)]}, "exact",
         (2, 2, "acknowledgement")),
        ({**TRUNCATED, "sends": sent(0, 1), "polls": polled(0, 1)}, None, None),
    ],
)  # fmt: skip
def test_a_loss_is_estimated_by_the_abandoned_branch(
    make_trace: TraceMaker, rows: Rows, kind: str | None, estimate: tuple[int, int, str] | None
) -> None:
    batches = [
        {**row, "base_offset": row["offset"], "last_offset": row["offset"]}
        for row in rows["replica_records"]
    ]
    table = [{key: row[key] for key in row if key not in ("offset", "value")} for row in batches]
    found = result(make_trace, Check.LOSS_ESTIMATE, {**rows, "replica_batches": table})
    assert (found.verdict, found.evaluated) == ("permitted" if kind else "holds", 1)
    reported = [
        (one.kind, (one.evidence["estimate"], one.evidence["lost"], one.evidence["reached_by"]))
        for one in found.examples
    ]
    assert reported == ([(kind, estimate)] if kind else [])


def amplified(make_trace: TraceMaker, rows: Rows) -> dict[str, Any]:
    found = result(make_trace, Check.REPROCESSING_AMPLIFICATION, rows)
    assert found.evaluated == len(rows["polls"])
    return {one.evidence["during"]: one.evidence for one in found.examples}


def test_amplification_is_told_of_the_run_and_of_each_fault(make_trace: TraceMaker) -> None:
    polls = [*polled(0, 1, 2, 3), *polled(2, 3, life=2, at=600), *polled(3, life=2, at=900)]
    fault = {**HEALTHY["faults"][0], "injected_micros": 500, "healed_micros": 700}
    rows = {**HEALTHY, "polls": polls, "faults": [fault]}
    reported = amplified(make_trace, rows)
    assert (reported["whole run"]["again"], reported["whole run"]["amplification"]) == (3, 1.75)
    assert (reported["kill all"]["delivered"], reported["kill all"]["again"]) == (2, 1)
    assert amplified(make_trace, {**rows, "polls": polls[:4]}) == {}


def test_another_record_at_the_offset_is_no_redelivery(make_trace: TraceMaker) -> None:
    assert amplified(make_trace, WENT_BACK) == {}


def test_a_reset_tells_bytes_seconds_and_what_it_jumped_over(make_trace: TraceMaker) -> None:
    batches = [
        {
            "topic": "t",
            "partition": 0,
            "broker": broker,
            "base_offset": first,
            "last_offset": first + 1,
            "leader_epoch": 0,
            "size_bytes": 100,
            "max_timestamp_micros": first * 1_000_000,
        }
        for first in (0, 2, 4)
        for broker in (1, 2)
    ]
    back = {
        **WENT_BACK,
        "replica_batches": batches,
        "resets": [reset_reported("truncation", 4, 0, 0)],
    }
    (one,) = result(make_trace, Check.RESET, back).examples
    assert (one.evidence["bytes"], one.evidence["seconds"], one.evidence["skipped"]) == (200, 2, 0)
    ahead = {**HEALTHY, "polls": polled(0, 3), "resets": [reset_reported("out_of_range", 1, 0, 3)]}
    (two,) = result(make_trace, Check.RESET, ahead).examples
    assert (two.evidence["records"], two.evidence["skipped"]) == (-2, 2)
    assert "bytes" not in two.evidence
