"""Committed epochs in histories of a few events."""

import pytest
from conftest import TraceMaker
from histories import HEALTHY, WENT_ON, result
from judging import judge
from micro import Row, changed, committed, led, polled

from contract.checks import Check
from contract.verdicts import CheckVerdict


@pytest.mark.parametrize(
    ("committed_epoch", "commit_epoch", "check", "verdict"),
    [
        (-1, "record", Check.COMMITTED_EPOCH_MISSING, CheckVerdict.VIOLATED),
        (-1, "none", Check.COMMITTED_EPOCH_MISSING, CheckVerdict.PERMITTED),
        (0, "record", Check.COMMITTED_EPOCH_STALE, CheckVerdict.VIOLATED),
        (1, "record", Check.COMMITTED_EPOCH_BEHIND_LEADER, CheckVerdict.PERMITTED),
        (0, "application", Check.COMMITTED_EPOCH_STALE, CheckVerdict.VIOLATED),
        (0, "stale", Check.COMMITTED_EPOCH_STALE, CheckVerdict.PERMITTED),
        (2, "record", Check.COMMITTED_EPOCH_AHEAD, CheckVerdict.VIOLATED),
        (2, "application", Check.COMMITTED_EPOCH_AHEAD, CheckVerdict.VIOLATED),
        (2, "forced", Check.COMMITTED_EPOCH_AHEAD, CheckVerdict.PERMITTED),
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
    checks = (
        Check.COMMITTED_EPOCH_MISSING,
        Check.COMMITTED_EPOCH_STALE,
        Check.COMMITTED_EPOCH_BEHIND_LEADER,
        Check.COMMITTED_EPOCH_AHEAD,
    )
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
        # The style says what is committed: that is measured (`CommitEpoch`).
        ([committed(2, -1)], [], "forced", CheckVerdict.PERMITTED, 1),
        ([committed(2, -1)], polled(1), "application", CheckVerdict.VIOLATED, 1),
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


MS = 1000
_CLEAN = {"unclean_election": False}


@pytest.mark.parametrize(
    ("polls", "verdict", "kind"),
    [
        ([*polled(0, 1), *polled(2, 3, epoch=1, at=300)], "holds", None),
        # Served by the old branch after the new one.
        ([*polled(0, 1, epoch=1), *polled(2, 3, at=300)], "violated", "within a session"),
        ([*polled(0, epoch=1), *polled(2, at=9 * MS, life=2)], "undecided", "across members"),
        ([*polled(0, epoch=1), *polled(2, at=90 * MS, life=2)], "violated", "across members"),
        # It went back; another partition; no epoch told; only the new one after the old.
        ([*polled(2, 3, epoch=1), *polled(0, 1, at=300)], "holds", None),
        (
            [*polled(0, 1, epoch=1), *({**row, "partition": 1} for row in polled(2, at=300))],
            "holds",
            None,
        ),
        ([*polled(0, 1, epoch=1), *polled(2, epoch=-1, at=300)], "holds", None),
        ([*polled(0, 1, 2, 3), *polled(1, 2, epoch=1, at=300)], "holds", None),
    ],
)
def test_epochs_of_records_do_not_fall(
    make_trace: TraceMaker, polls: list[Row], verdict: str, kind: str | None
) -> None:
    found = result(make_trace, Check.RECORD_EPOCH_REGRESSED, {**HEALTHY, "polls": polls})
    assert (found.verdict, found.evaluated) == (verdict, len(polls))
    assert [one.kind for one in found.examples] == ([kind] if kind else [])


@pytest.mark.parametrize(
    ("commits", "commit_epoch", "verdict", "evaluated"),
    [
        ([(2, 0), (4, 1)], "record", "holds", 1),
        ([(2, 1), (4, 0)], "record", "violated", 1),
        ([(2, 1), (2, 0)], "record", "violated", 1),
        ([(2, 1), (4, 0)], "forced", "permitted", 1),
        # It went back, or had no epoch.
        ([(4, 1), (2, 0)], "record", "not_evaluable", 0),
        ([(2, 1), (4, -1)], "record", "not_evaluable", 0),
        ([(2, -1), (4, 0)], "record", "not_evaluable", 0),
    ],
)
def test_committed_epochs_do_not_fall(
    make_trace: TraceMaker,
    commits: list[tuple[int, int]],
    commit_epoch: str,
    verdict: str,
    evaluated: int,
) -> None:
    stored = [committed(*commit, at=300 + index) for index, commit in enumerate(commits)]
    rows = {**HEALTHY, "committed_offsets": stored}
    found = result(make_trace, Check.COMMITTED_EPOCH_REGRESSED, rows, commit_epoch=commit_epoch)
    assert (found.verdict, found.evaluated) == (verdict, evaluated)


@pytest.mark.parametrize(
    ("commit", "leaderships", "verdict"),
    [
        (committed(2, 1), [led(0, at=10), led(1, at=20)], "holds"),
        (committed(2, 3), [led(0, at=10), led(1, at=20)], "violated"),
        (committed(2, 1, at=100 * MS), [led(0, at=10), led(1, at=900 * MS)], "violated"),
        (committed(2, 1, at=100 * MS), [led(0, at=10), led(1, at=140 * MS)], "undecided"),
        # The metadata log begins later than the partition.
        (committed(2, 0), [led(4, at=10)], "undecided"),
        (committed(2, 4), [{**led(4, at=10), "partition": 1}], "undecided"),
        (committed(2, -1), [led(0, at=10)], "not_evaluable"),
    ],
)
def test_a_committed_epoch_is_one_of_the_partition(
    make_trace: TraceMaker, commit: Row, leaderships: list[Row], verdict: str
) -> None:
    rows = {**HEALTHY, "committed_offsets": [commit], "leaderships": leaderships}
    assert result(make_trace, Check.COMMITTED_EPOCH_UNKNOWN, rows).verdict == verdict


@pytest.mark.parametrize(
    ("commit", "plan", "verdict", "kind"),
    [
        (committed(4, 0, at=240), {}, "permitted", "truncated later"),
        (committed(4, 0, at=900_000), {}, "permitted", "committed late"),
        (committed(4, 0, at=240), _CLEAN, "violated", "truncated later"),
        # Up to where the branches part it is good; so is the new branch's own epoch.
        (committed(2, 0), _CLEAN, "holds", None),
        (committed(4, 1), _CLEAN, "holds", None),
        # The record before is of a later epoch: the commit is stale, not orphaned.
        (committed(6, 0, at=900_000), _CLEAN, "holds", None),
        (committed(4, -1), _CLEAN, "not_evaluable", None),
    ],
)
def test_a_commit_on_an_abandoned_branch_is_an_orphan(
    make_trace: TraceMaker, commit: Row, plan: dict[str, bool], verdict: str, kind: str | None
) -> None:
    leaderships = [led(0, at=10), led(1, at=250 * MS, leader=2)]
    rows = {**WENT_ON, "committed_offsets": [commit], "leaderships": leaderships}
    found = result(make_trace, Check.ORPHAN_COMMIT, rows, **plan)
    assert found.verdict == verdict
    assert [one.kind for one in found.examples] == ([kind] if kind else [])
