"""What findings tell besides kind and verdict; which these are, the exam asks (`tests/exam`)."""

from typing import Any

import pytest
from conftest import Rows, TraceMaker
from histories import HEALTHY, LEFT_BEHIND, TRUNCATED, WENT_BACK, result
from judging import judge
from micro import (
    Row,
    changed,
    committed,
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

from contract.terms import Check
from contract.verdicts import CheckVerdict

SECOND = 1_000_000


def stood(until: int) -> dict[str, Any]:
    """A member that read 0 and 1 at 1 s, and 2, which was acknowledged at 2 s, at 9 s."""
    commits = [
        {**committed(2, 0), "member": "g#1", "committed_micros": at * SECOND}
        for at in range(2, until + 1)
    ]
    for row in commits:
        for name in ("is_tombstone", "offsets_partition", "offsets_offset"):
            del row[name]
    return {
        **HEALTHY,
        "sends": [*sent(0, 1), *sent(2, at=2 * SECOND)],
        "polls": [*polled(0, 1, at=SECOND), *polled(2, at=9 * SECOND)],
        "commits": commits,
    }


def test_a_reader_that_stands_before_an_acknowledged_record(make_trace: TraceMaker) -> None:
    found = result(make_trace, Check.STALE_READ, stood(8))
    assert (found.verdict, found.evaluated) == (CheckVerdict.PERMITTED, 2)
    (example,) = found.examples
    assert (example.offset_first, example.evidence["seconds"]) == (2, 6.0)
    # From when it was assigned the partition, where it was given nothing before.
    rows = {**stood(8), "polls": polled(2, at=9 * SECOND)}
    rows["group_events"] = [changed("assigned", at=4 * SECOND, position=2)]
    (example,) = result(make_trace, Check.STALE_READ, rows).examples
    assert (example.offset_first, example.evidence["seconds"]) == (2, 4.0)


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


def test_a_lost_acknowledgement_is_told_by_who_has_its_offset(make_trace: TraceMaker) -> None:
    check = Check.SERVED_UNDER_FENCED_EPOCH
    found = result(make_trace, check, zombie(), unclean_election=False)
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
    (example,) = found.examples
    assert (example.offset_first, example.offset_last, example.evidence["known_by"]) == (
        2,
        3,
        "truncation",
    )
    told = ("broker", "epoch", "newer_epoch", "seconds_after", "truncated_to")
    assert [example.evidence[name] for name in told] == [1, 0, 1, 1.0, 2]
    lost = result(make_trace, Check.LOST_RECORD, rows, unclean_election=False)
    assert lost.verdict is CheckVerdict.PERMITTED
    assert lost.summary == (
        "2 acknowledged records lost; permitted (acks=1): 2 truncated at epoch 1 start 2"
    )
    (example,) = lost.examples
    told = ("acknowledged_epoch", "broker", "truncated_to", "truncated_micros")
    assert [example.evidence[name] for name in told] == [0, 1, 2, 5 * SECOND]


def test_what_a_replica_held_before_it_was_cut_tells_epoch_and_holder(
    make_trace: TraceMaker,
) -> None:
    """Both followers cut their logs, so no truncation proves who acknowledged."""
    rows = zombie(acks="1")
    rows["truncations"] = [truncated(2, at=5 * SECOND), truncated(2, at=6 * SECOND, broker=2)]
    rows["cut_records"] = [{**record, "taken_micros": 4 * SECOND} for record in survived(2, 3)]
    lost = result(make_trace, Check.LOST_RECORD, rows, unclean_election=False)
    (example,) = lost.examples
    told = ("known_by", "held_by", "acknowledged_epoch", "broker")
    assert [example.evidence[name] for name in told] == ["seen", [1], 0, 1]
    assert (example.offset_first, example.offset_last, example.kind) == (2, 3, "truncated")


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
def test_what_no_truncation_proves_is_told_as_a_guess(
    make_trace: TraceMaker, cuts: list[Row]
) -> None:
    """Before the send, above the record, by one that never led, or by both that had led."""
    rows = {**zombie(acks="1"), "truncations": cuts}
    lost = result(make_trace, Check.LOST_RECORD, rows)
    guessed = [example for example in lost.examples if example.evidence["known_by"] == "guess"]
    assert [(example.offset_first, example.offset_last, example.kind) for example in guessed] == [
        (3, 3, "unexplained")
    ]
    assert "assumed" in guessed[0].cause
    late = result(make_trace, Check.SERVED_UNDER_FENCED_EPOCH, rows)
    assert [example.offset_first for example in late.examples] == [2]


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
    (example,) = [each for each in found.examples if each.verdict == "permitted"]
    assert [example.evidence[name] for name in ("broker", "epoch", "newer_epoch")] == [1, 0, 1]
    assert example.evidence["seconds_after"] == 2.0


def test_a_noticed_truncation_has_its_latency(make_trace: TraceMaker) -> None:
    rows = {**WENT_BACK, "resets": [reset_reported("truncation", 4, 0, 2, at=3250)]}
    (example,) = result(make_trace, Check.TRUNCATION_DETECTED, rows).examples
    assert (example.evidence["latency_ms"], example.evidence["records"]) == (3, 2)
    assert (example.offset_first, example.offset_last) == (2, 4)


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
    told = [
        (
            example.kind,
            (
                example.evidence["estimate"],
                example.evidence["lost"],
                example.evidence["reached_by"],
            ),
        )
        for example in found.examples
    ]
    assert told == ([(kind, estimate)] if kind else [])


def amplifications(make_trace: TraceMaker, rows: Rows) -> dict[str, Any]:
    found = result(make_trace, Check.REPROCESSING_AMPLIFICATION, rows)
    assert found.evaluated == len(rows["polls"])
    return {example.evidence["during"]: example.evidence for example in found.examples}


def test_amplification_is_told_of_the_run_and_of_each_fault(make_trace: TraceMaker) -> None:
    polls = [*polled(0, 1, 2, 3), *polled(2, 3, life=2, at=600), *polled(3, life=2, at=900)]
    fault = {**HEALTHY["faults"][0], "injected_micros": 500, "healed_micros": 700}
    rows = {**HEALTHY, "polls": polls, "faults": [fault]}
    told = amplifications(make_trace, rows)
    assert (told["whole run"]["again"], told["whole run"]["amplification"]) == (3, 1.75)
    assert (told["kill all"]["delivered"], told["kill all"]["again"]) == (2, 1)
    assert amplifications(make_trace, {**rows, "polls": polls[:4]}) == {}


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
    resets = [reset_reported("truncation", 4, 0, 0)]
    back = {**WENT_BACK, "replica_batches": batches, "resets": resets}
    (example,) = result(make_trace, Check.RESET, back).examples
    assert (
        example.evidence["bytes"],
        example.evidence["seconds"],
        example.evidence["skipped"],
    ) == (200, 2, 0)
    ahead = {**HEALTHY, "polls": polled(0, 3), "resets": [reset_reported("out_of_range", 1, 0, 3)]}
    (two,) = result(make_trace, Check.RESET, ahead).examples
    assert (two.evidence["records"], two.evidence["skipped"]) == (-2, 2)
    assert "bytes" not in two.evidence


def test_a_check_that_judged_nothing_is_told(make_trace: TraceMaker) -> None:
    checks = (Check.FAULT_LANDED, Check.HISTORY_COMPLETE, Check.VACUOUS_CHECK)
    whole = judge(make_trace(HEALTHY, checks=checks)).checks[Check.VACUOUS_CHECK]
    assert (whole.verdict, whole.evaluated) == (CheckVerdict.HOLDS, 2)
    rows = {**HEALTHY, "faults": []}
    told = judge(make_trace(rows, checks=checks)).checks[Check.VACUOUS_CHECK]
    assert told.verdict is CheckVerdict.UNDECIDED
    assert [example.evidence["check"] for example in told.examples] == ["fault_landed"]
