"""What the core checks report, word for word: kind, span and cause."""

from typing import Any

import pytest
from conftest import Rows, TraceMaker
from histories import (
    CORRUPTED,
    EPOCHLESS,
    HEALTHY,
    JUMPED,
    PHANTOM,
    REDELIVERED,
    RESET_ON_BRANCH,
    SEEN_TOO_HIGH,
    TRUNCATED,
    WENT_BACK,
    WENT_ON,
    result,
)
from micro import committed, led, polled, reset_told, sampled, sent, truncated

from contract.checks import Check

MS = 1000
_ELECTED = {"leaderships": [led(0, at=10), led(1, at=250 * MS, leader=2)]}


@pytest.mark.parametrize(
    ("check", "rows", "plan", "kind", "span", "cause"),
    [
        (
            Check.LOST_RECORD,
            TRUNCATED,
            {},
            "truncated",
            (2, 3),
            ("2 records acknowledged (acks=all) under epoch 0 (assumed: the epoch at that time):"
            " truncated; unclean election by configuration: broker 2, epoch 1, metadata offset"
            " 250"),
        ),
        (
            Check.LOST_RECORD,
            {**TRUNCATED, "truncations": [truncated(2, at=300)]},
            {},
            "truncated",
            (2, 3),
            (
                "2 records acknowledged (acks=all) under epoch 0: truncated"
                " when broker 1 truncated its log to 2; unclean election by configuration:"
                " broker 2, epoch 1, metadata offset 250"
            ),
        ),
        (
            Check.SKIPPED_RECORD,
            WENT_ON,
            {},
            "skipped without an error",
            (2, 3),
            (
                "the client accepted committed offset 4 with epoch 1, but at these offsets the log"
                " has other records, of epoch 1, than the group had read"
            ),
        ),
        (
            Check.SKIPPED_RECORD,
            EPOCHLESS,
            {"commit_epoch": "none"},
            "skipped without an error",
            (2, 3),
            "the offset was committed without a leader epoch, so it could not be validated",
        ),
        (
            Check.SKIPPED_RECORD,
            JUMPED,
            {"reset": "latest"},
            "skipped by a reset",
            (2, 5),
            "auto.offset.reset=latest skipped the records",
        ),
        (
            Check.SKIPPED_RECORD,
            SEEN_TOO_HIGH,
            {"commit_epoch": "forced"},
            "divergent offset too high",
            (2, 5),
            (
                "the client truncated its position to the end of committed epoch 1 in this log, 6,"
                " which is above the divergence"
            ),
        ),
        (
            Check.DUPLICATE_DELIVERY,
            REDELIVERED,
            {},
            "redelivered",
            (1, 2),
            "at-least-once delivery: the group returned to an earlier position",
        ),
        (
            Check.PHANTOM_RECORD,
            PHANTOM,
            {},
            "phantom",
            (2, 2),
            "no producer intended this value",
        ),
        (
            Check.CORRUPTED_RECORD,
            CORRUPTED,
            {},
            "corrupted",
            (1, 1),
            "the value's checksum does not match",
        ),
        (
            Check.TRUNCATION_DETECTED,
            {**WENT_BACK, "resets": [reset_told("truncation", 4, 0, 2, at=3250)]},
            {},
            "at the divergence",
            (2, 4),
            ("epoch 0 ends at 2 in the log; the client detected the truncation at 4, 3 ms after"
            " the next epoch began"),
        ),
        (
            Check.TRUNCATION_UNDETECTED,
            WENT_ON,
            {},
            "silent",
            (2, 3),
            ("2 records of epoch 0 were read and then truncated; the group continued in epoch 1"
            " without an error"),
        ),
        (
            Check.LOSS_ESTIMATE,
            {**TRUNCATED, "polls": polled(0, 1, 2, 3)},
            {},
            "exact",
            (2, 3),
            "epoch 0 reached 4 and ends at 2 in the log: 2 records; 2 acknowledged ones are lost",
        ),
        (
            Check.RESET,
            WENT_BACK,
            {},
            "truncation",
            (4, 2),
            "truncation: from 4 to 2 (policy earliest)",
        ),
        (
            Check.RESET,
            {**WENT_BACK, "resets": [reset_told("truncation", 4, 0, None)]},
            {},
            "truncation",
            (4, None),
            "truncation: the client raised an exception",
        ),
        (
            Check.UNJUSTIFIED_RESET,
            {**RESET_ON_BRANCH, "samples": [sampled(6, epoch=1, at=450)]},
            {},
            "truncation",
            (4, 2),
            "the position was on the surviving branch; no reset was expected",
        ),
        (
            Check.UNJUSTIFIED_RESET,
            {**RESET_ON_BRANCH, "samples": [sampled(3, epoch=1, at=450)]},
            {},
            "truncation",
            (4, 2),
            "the position was above the log end in the last sample before, but not in a later one",
        ),
        (
            Check.UNJUSTIFIED_RESET,
            {
                **WENT_BACK,
                "resets": [reset_told("out_of_range", 4, -1, 2)],
                "samples": [sampled(6, epoch=1, at=450)],
                "committed_offsets": [],
            },
            {},
            "out_of_range",
            (4, 2),
            "the position was within the log, but had no leader epoch to compare",
        ),
        (
            Check.RECORD_EPOCH_REGRESSED,
            {**HEALTHY, "polls": [*polled(0, 1, epoch=1), *polled(2, 3, at=300)]},
            {},
            "within a session",
            (1, 2),
            "offset 1 of epoch 1 was followed by offset 2 of the older epoch 0",
        ),
        (
            Check.COMMITTED_EPOCH_STALE,
            {**HEALTHY, "polls": polled(0, 1, epoch=1)},
            {},
            "stale",
            (2, 2),
            ("the committed epoch is older than that of the record before; a client may report a"
            " truncation that did not happen"),
        ),
        (
            Check.COMMITTED_EPOCH_REGRESSED,
            {**HEALTHY, "committed_offsets": [committed(2, 1), committed(4, 0, at=301)]},
            {},
            "regressed",
            (2, 4),
            "epoch 0 was committed after epoch 1, although the offset did not go back",
        ),
        (
            Check.COMMITTED_EPOCH_UNKNOWN,
            {**HEALTHY, "committed_offsets": [committed(2, 3)]},
            {},
            "no such epoch",
            (2, 2),
            "the partition never had this leader epoch",
        ),
        (
            Check.COMMITTED_EPOCH_UNKNOWN,
            {**HEALTHY, "leaderships": [led(4, at=10)]},
            {},
            "no such epoch",
            (2, 2),
            "the leader epoch is older than the oldest one in the metadata log",
        ),
        (
            Check.COMMITTED_EPOCH_UNKNOWN,
            {
                **HEALTHY,
                "committed_offsets": [committed(2, 1)],
                "leaderships": [led(0, at=10), led(1, at=900 * MS)],
            },
            {},
            "not begun",
            (2, 2),
            "the leader epoch began only after the commit",
        ),
        (
            Check.ORPHAN_COMMIT,
            {**WENT_ON, **_ELECTED, "committed_offsets": [committed(4, 0, at=240)]},
            {},
            "truncated later",
            (4, 4),
            (
                "epoch 0 ends at 2 in the surviving log: 2 records before the committed offset are"
                " not the ones that were read; unclean election by configuration: broker 2,"
                " epoch 1, metadata offset 250000"
            ),
        ),
    ],
)  # fmt: skip
def test_a_finding_says_what_happened_where_and_why(
    make_trace: TraceMaker,
    check: Check,
    rows: Rows,
    plan: dict[str, Any],
    kind: str,
    span: tuple[int, int | None],
    cause: str,
) -> None:
    (one,) = result(make_trace, check, rows, **plan).examples
    assert (one.kind, (one.offset_first, one.offset_last), one.cause) == (kind, span, cause)


@pytest.mark.parametrize(
    ("check", "rows", "evidence"),
    [
        (
            Check.PHANTOM_RECORD,
            {**HEALTHY, "polls": polled(0, 1, producer="nobody")},
            {"records", "value"},
        ),
        (
            Check.COMMITTED_EPOCH_UNKNOWN,
            {**HEALTHY, "committed_offsets": [committed(2, 3)]},
            {"committed_epoch", "oldest_epoch", "commit_epoch"},
        ),
        (
            Check.COMMITTED_EPOCH_REGRESSED,
            {**HEALTHY, "committed_offsets": [committed(2, 1), committed(4, 0, at=301)]},
            {"previous_offset", "previous_epoch", "committed_epoch", "commit_epoch"},
        ),
    ],
)
def test_a_finding_shows_what_proves_it(
    make_trace: TraceMaker, check: Check, rows: Rows, evidence: set[str]
) -> None:
    (one,) = result(make_trace, check, rows).examples
    assert set(one.evidence) == evidence


def test_a_value_of_another_partition_is_a_phantom(make_trace: TraceMaker) -> None:
    elsewhere = [{**row, "partition": 1} for row in sent(7)]
    rows = {**HEALTHY, "sends": [*HEALTHY["sends"], *elsewhere], "polls": polled(0, 1, 7)}
    assert result(make_trace, Check.PHANTOM_RECORD, rows).verdict == "violated"


def test_a_branch_that_lost_nothing_acknowledged_is_estimated(make_trace: TraceMaker) -> None:
    rows = {**TRUNCATED, "sends": sent(0, 1), "polls": polled(0, 1, 2, 3)}
    (one,) = result(make_trace, Check.LOSS_ESTIMATE, rows).examples
    assert (one.kind, one.evidence["estimate"], one.evidence["lost"]) == (
        "more than acknowledged",
        2,
        0,
    )


def test_a_group_that_nobody_planned_is_judged_by_what_it_read(make_trace: TraceMaker) -> None:
    rows = {**WENT_ON, "polls": [{**row, "group": "other"} for row in WENT_ON["polls"]]}
    found = result(make_trace, Check.TRUNCATION_UNDETECTED, rows)
    assert [(one.verdict, one.group) for one in found.examples] == [("violation", "other")]


def test_times_are_compared_with_each_other(make_trace: TraceMaker) -> None:
    later = [*polled(0, epoch=1, at=900 * MS), *polled(2, at=909 * MS, life=2)]
    found = result(make_trace, Check.RECORD_EPOCH_REGRESSED, {**HEALTHY, "polls": later})
    assert [(one.kind, one.verdict) for one in found.examples] == [("across members", "undecided")]
