"""What the core checks tell of what they found, word for word: kind, span and cause."""

from typing import Any

import pytest
from conftest import Rows, TraceMaker
from histories import (
    CORRUPTED,
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

pytestmark = pytest.mark.spark

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
            ("2 records acknowledged (acks=all) under epoch 0 (a guess: it led then): truncated;"
            " unclean election by configuration: broker 2, epoch 1, metadata offset 250"),
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
            "passed in silence",
            (2, 3),
            (
                "committed (4, epoch 1) was taken as valid in a log that has these records of"
                " epoch 1 instead of those that were read"
            ),
        ),
        (
            Check.SKIPPED_RECORD,
            WENT_ON,
            {"commit_epoch": "none"},
            "passed in silence",
            (2, 3),
            "no epoch was committed to validate",
        ),
        (
            Check.SKIPPED_RECORD,
            JUMPED,
            {"reset": "latest"},
            "jumped by reset",
            (2, 5),
            "auto.offset.reset=latest jumped over them",
        ),
        (
            Check.SKIPPED_RECORD,
            SEEN_TOO_HIGH,
            {"commit_epoch": "forced"},
            "truncation seen too high",
            (2, 5),
            (
                "committed epoch 1 ends at 6 in this log: the truncation was placed there, above"
                " the divergence"
            ),
        ),
        (
            Check.DUPLICATE_DELIVERY,
            REDELIVERED,
            {},
            "redelivered",
            (1, 2),
            "delivery is at least once: the group went back",
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
            "the value's checksum does not fit",
        ),
        (
            Check.TRUNCATION_DETECTED,
            {**WENT_BACK, "resets": [reset_told("truncation", 4, 0, 2, at=3250)]},
            {},
            "at the divergence",
            (2, 4),
            "epoch 0 was left at 2; noticed at 4, 3 ms after the next epoch began",
        ),
        (
            Check.TRUNCATION_UNDETECTED,
            WENT_ON,
            {},
            "silent",
            (2, 3),
            "2 records of epoch 0 were read, then truncated; the group went on in epoch 1",
        ),
        (
            Check.LOSS_ESTIMATE,
            {**TRUNCATED, "polls": polled(0, 1, 2, 3)},
            {},
            "exact",
            (2, 3),
            "epoch 0 reached 4 and was left at 2: 2 records; 2 acknowledged ones are lost",
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
            "truncation: raised to the application",
        ),
        (
            Check.UNJUSTIFIED_RESET,
            {**RESET_ON_BRANCH, "samples": [sampled(6, epoch=1, at=450)]},
            {},
            "truncation",
            (4, 2),
            "the position lay on the surviving branch, and was reset",
        ),
        (
            Check.UNJUSTIFIED_RESET,
            {**RESET_ON_BRANCH, "samples": [sampled(3, epoch=1, at=450)]},
            {},
            "truncation",
            (4, 2),
            "beyond the log's end in the last sample before; a later one covers it",
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
            "within the log as it was, but without an epoch to judge by",
        ),
        (
            Check.RECORD_EPOCH_REGRESSED,
            {**HEALTHY, "polls": [*polled(0, 1, epoch=1), *polled(2, 3, at=300)]},
            {},
            "within a session",
            (1, 2),
            "after offset 1 of epoch 1 came offset 2 of epoch 0",
        ),
        (
            Check.COMMITTED_EPOCH_STALE,
            {**HEALTHY, "polls": polled(0, 1, epoch=1)},
            {},
            "stale",
            (2, 2),
            "older than the record before: the position looks truncated although it is not",
        ),
        (
            Check.COMMITTED_EPOCH_REGRESSED,
            {**HEALTHY, "committed_offsets": [committed(2, 1), committed(4, 0, at=301)]},
            {},
            "regressed",
            (2, 4),
            "epoch 0 after epoch 1, though the offset did not go back",
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
            "older than what the metadata log still tells",
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
                "the surviving branch leaves epoch 0 at 2: 2 records before the position are not"
                " the ones that were read; unclean election by configuration: broker 2, epoch 1,"
                " metadata offset 250000"
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
