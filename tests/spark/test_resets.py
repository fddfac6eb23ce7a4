"""Truncations and resets in histories of a few events."""

from typing import Any

import pytest
from conftest import TraceMaker
from histories import RESET_ON_BRANCH, WENT_BACK, WENT_ON, result
from micro import (
    Row,
    changed,
    committed,
    log_bounds,
    reset_told,
    sampled,
)

from harness.contract.checks import Check
from harness.contract.verdicts import CheckVerdict

pytestmark = pytest.mark.spark


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
    told = {**reset_told("truncation", 4, 0, 2, at=500_000), **notice}
    rows = {**WENT_ON, "polls": read, "resets": [told]}
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


def test_what_retention_deleted_was_not_truncated(make_trace: TraceMaker) -> None:
    rows = {**WENT_ON, "log_starts": log_bounds(4, 6)}
    assert result(make_trace, Check.TRUNCATION_UNDETECTED, rows).verdict is CheckVerdict.HOLDS


def test_a_reset_is_told_with_its_magnitude(make_trace: TraceMaker) -> None:
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
        ([sampled(3, epoch=1, at=450)], CheckVerdict.UNDECIDED, "a later one covers"),
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


def test_a_reset_without_an_epoch_can_not_be_told(make_trace: TraceMaker) -> None:
    rows = {
        **WENT_BACK,
        "committed_offsets": [committed(4, -1), committed(4, 1, at=510), committed(3, 1)],
        "resets": [reset_told("out_of_range", 4, -1, 2)],
        "samples": [sampled(6, epoch=1, at=450)],
    }
    found = result(make_trace, Check.UNJUSTIFIED_RESET, rows)
    assert found.verdict is CheckVerdict.UNDECIDED
    assert "without an epoch" in found.examples[0].cause


@pytest.mark.parametrize(("epoch", "verdict"), [(0, "holds"), (1, "violated")])
def test_an_epoch_that_the_client_forgot_is_that_of_the_commit(
    make_trace: TraceMaker, epoch: int, verdict: str
) -> None:
    rows = {
        **WENT_BACK,
        "committed_offsets": [committed(4, epoch), committed(4, -1, at=400)],
        "resets": [reset_told("out_of_range", 4, -1, 2)],
        "samples": [sampled(6, epoch=1, at=450)],
    }
    found = result(make_trace, Check.UNJUSTIFIED_RESET, rows)
    assert found.verdict == verdict
    assert [one.evidence["from_epoch"] for one in found.examples] == [1] * epoch
