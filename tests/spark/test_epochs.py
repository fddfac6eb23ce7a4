"""Committed epochs in histories of a few events."""

import pytest
from conftest import TraceMaker
from histories import HEALTHY, result
from micro import Row, changed, committed, led, polled

from analysis.judge import judge
from harness.contract.checks import Check
from harness.contract.verdicts import CheckVerdict

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("committed_epoch", "commit_epoch", "check", "verdict"),
    [
        (-1, "record", Check.COMMITTED_EPOCH_MISSING, CheckVerdict.VIOLATED),
        (-1, "none", Check.COMMITTED_EPOCH_MISSING, CheckVerdict.PERMITTED),
        (0, "record", Check.COMMITTED_EPOCH_STALE, CheckVerdict.VIOLATED),
        (1, "record", Check.COMMITTED_EPOCH_BEHIND_LEADER, CheckVerdict.PERMITTED),
        (2, "record", Check.COMMITTED_EPOCH_AHEAD, CheckVerdict.VIOLATED),
        (2, "current", Check.COMMITTED_EPOCH_AHEAD, CheckVerdict.PERMITTED),
    ],
)
def test_committed_epoch_against_the_record_and_the_leader(
    make_trace: TraceMaker,
    committed_epoch: int,
    commit_epoch: str,
    check: Check,
    verdict: CheckVerdict,
) -> None:
    rows = {
        "leaderships": [led(0, at=10), led(1, at=20), led(2, at=250)],
        "polls": polled(0, 1, epoch=1),
        "committed_offsets": [committed(2, committed_epoch)],
    }
    checks = tuple(c for c in Check if c.startswith("committed_epoch"))
    found = judge(make_trace(rows, checks=checks, commit_epoch=commit_epoch)).checks
    assert found[check].verdict is verdict
    assert found[check].evaluated == 1
    for other in {*checks} - {check}:
        assert found[other].verdict is CheckVerdict.HOLDS


@pytest.mark.parametrize(
    ("commits", "polls", "commit_epoch", "verdict", "findings"),
    [
        # Resumed at 2 and committed at once: nothing told it an epoch.
        ([committed(2, -1)], [], "record", CheckVerdict.NOT_EVALUABLE, 0),
        ([committed(2, -1, at=290), committed(2, -1)], [], "record", "not_evaluable", 0),
        # The epoch that it had committed is one that it knew.
        ([committed(2, 0, at=290), committed(2, -1)], [], "record", CheckVerdict.VIOLATED, 1),
        ([committed(1, 0, at=290), committed(2, -1)], [], "record", "not_evaluable", 0),
        ([committed(2, -1)], polled(1), "record", CheckVerdict.VIOLATED, 1),
        # The group's first life polled the record before, not the life that commits.
        ([committed(2, -1, at=900_000)], polled(1), "record", "not_evaluable", 0),
        ([committed(2, -1)], [], "current", CheckVerdict.VIOLATED, 1),
        ([committed(2, -1)], [], "none", CheckVerdict.PERMITTED, 1),
    ],
)
def test_only_an_epoch_that_the_group_knew_can_be_missing(
    make_trace: TraceMaker,
    commits: list[Row],
    polls: list[Row],
    commit_epoch: str,
    verdict: str,
    findings: int,
) -> None:
    by_another = [{**row, "group": "other"} for row in polled(0, 1, 2)]
    rows = {
        **HEALTHY,
        "polls": [*by_another, *polls],
        "committed_offsets": commits,
        "group_events": [changed("opened", at=150), changed("opened", life=2, at=800_000)],
    }
    found = result(make_trace, Check.COMMITTED_EPOCH_MISSING, rows, commit_epoch=commit_epoch)
    assert found.verdict == verdict
    assert found.findings == findings


def test_an_epoch_is_judged_by_what_was_polled_before_the_commit(make_trace: TraceMaker) -> None:
    again = polled(1, epoch=2, producer="q", life=2, at=9_000_000)
    rows = {
        "leaderships": [led(0, at=10)],
        "polls": [*polled(0, 1), *again],
        "committed_offsets": [committed(2, 0)],
    }
    assert result(make_trace, Check.COMMITTED_EPOCH_STALE, rows).verdict is CheckVerdict.HOLDS
