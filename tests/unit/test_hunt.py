"""The near misses of resumptions, and a story's figures, in histories of a few events."""

from typing import Any

import pytest
from conftest import TraceMaker
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
    survived,
)

from analysis.verdict.judge import judge
from contract.checks import Check
from studies.hunt.stories import NEAR_MISSES, column_of, near_misses, story_of

# The group read 0-3 of epoch 0 and committed 4; epoch 1 started there; it resumed at 600.
RESUMED: dict[str, Any] = {
    "replica_records": [*survived(0, 1, 2, 3), *survived(4, 5, epoch=1)],
    "epoch_checkpoints": epochs((0, 0), (1, 4)),
    "leaderships": [led(0, at=10)],
    "log_starts": log_bounds(0, 6),
    "polls": [*polled(0, 1, 2, 3), *polled(4, 5, epoch=1, life=2, at=610)],
    "committed_offsets": [committed(4, 0, at=300)],
    "group_events": [
        changed("opened", at=150),
        changed("opened", life=2, at=450),
        changed("assigned", life=2, at=600, position=4),
    ],
}
ANEW = [led(0, at=10), led(1, at=400, leader=2)]
# The log began at the commit when the member resumed, and epoch 0 had left the cache.
BEGAN_THERE = {
    "leaderships": ANEW,
    "samples": [
        sampled(6, at=310, start=0),
        sampled(6, at=500, start=4, epoch=1, broker=2, leader=2),
        sampled(6, at=3_000_000, start=4, epoch=1, broker=2, leader=2),
    ],
    "log_starts": log_bounds(4, 6),
    "epoch_checkpoints": epochs((1, 4)),
}


@pytest.mark.parametrize(
    ("changes", "near"),
    [
        ({}, set()),
        ({"leaderships": ANEW}, {"new leader"}),
        (BEGAN_THERE, {"new leader", "at the log start", "epoch gone"}),
        ({"committed_offsets": [committed(4, -1)]}, {"no epoch"}),
        ({"committed_offsets": [committed(4, 1)]}, {"epoch newer"}),
        ({"committed_offsets": [committed(6, 0)], "polls": []}, {"epoch older"}),
    ],
)
def test_how_near_a_resumption_came(
    make_trace: TraceMaker, changes: dict[str, list[Row]], near: set[str]
) -> None:
    (row,) = near_misses(make_trace({**RESUMED, **changes}))
    assert {one for one in NEAR_MISSES if row[column_of(one)]} == near
    assert row["resumptions"] == 1


def test_without_a_commit_nothing_resumed(make_trace: TraceMaker) -> None:
    assert near_misses(make_trace({**RESUMED, "committed_offsets": []})) == []


RESET = reset_reported("truncation", 4, 0, 0, at=605)
ENDS = [sampled(6, at=500), sampled(6, at=3_000_000)]


@pytest.mark.parametrize(
    ("changes", "unjustified", "undecided"),
    [
        ({}, 0, 0),
        ({"resets": [RESET], "samples": ENDS}, 1, 0),
        ({"resets": [{**RESET, "from_epoch": -1}], "samples": ENDS}, 1, 0),
        ({"resets": [RESET]}, 0, 1),
    ],
)
def test_a_story_holds_is_violated_or_leaves_it_open(
    make_trace: TraceMaker, changes: dict[str, list[Row]], unjustified: int, undecided: int
) -> None:
    trace = make_trace({**RESUMED, **changes})
    verdict = judge(trace, only=[Check.UNJUSTIFIED_RESET, Check.START_MISMATCH])
    story = story_of(trace, verdict)
    (group,) = story.groups
    assert (group.unjustified, group.undecided) == (unjustified, undecided)
    assert len(story.witnesses) == unjustified + undecided
    assert (group.resumptions, group.delivered, group.again) == (1, 6, 0)
    assert story.is_known


def test_a_missing_source_leaves_a_story_unknown(make_trace: TraceMaker) -> None:
    trace = make_trace(RESUMED, missing=("log_starts",))
    verdict = judge(trace, only=[Check.UNJUSTIFIED_RESET, Check.START_MISMATCH])
    assert not story_of(trace, verdict).is_known
