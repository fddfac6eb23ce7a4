"""Members and what they own, in histories of a few events."""

import pytest
from conftest import Rows, TraceMaker
from histories import HEALTHY, result
from micro import (
    Row,
    changed,
    committed,
    log_bounds,
    polled,
    reset_told,
    sent,
    survived,
    told_commit,
)

from contract.checks import Check

MS = 1000


def owned(life: int, *, at: int, position: int = 0) -> Row:
    """The member of a life was assigned the partition."""
    return changed("assigned", life=life, at=at * MS, position=position)


def left(life: int, *, at: int, change: str = "revoked") -> Row:
    """The member of a life gave the partition back, or closed."""
    where = {"topic": "", "partition": -1} if change == "closed" else {}
    return {**changed(change, life=life, at=at * MS), **where}


FIRST, SECOND = owned(1, at=100), owned(2, at=300, position=2)
IN_TURN: Rows = {
    **HEALTHY,
    "polls": [*polled(0, 1, at=200 * MS), *polled(2, 3, life=2, at=400 * MS)],
    "group_events": [FIRST, left(1, at=250), SECOND],
    "commits": [told_commit(2, at=240 * MS), told_commit(4, life=2, at=450 * MS)],
    "committed_offsets": [committed(2, 0, at=240 * MS), committed(4, 0, at=450 * MS)],
    "resets": [],
    "faults": [],
}
LATE = {
    "group_events": [FIRST, SECOND],
    "commits": [told_commit(3, at=450 * MS)],
    "committed_offsets": [committed(2, 0, at=240 * MS), committed(3, 0, at=440 * MS)],
}


@pytest.mark.parametrize(
    ("rows", "verdict", "evaluated"),
    [
        ({}, "holds", 2),
        (LATE, "violated", 1),
        # It was stored before the other one owned the partition; the answer came late.
        (
            {**LATE, "committed_offsets": [committed(3, 0, at=240 * MS)]},
            "holds",
            1,
        ),
        # The other one gave it back before; or the committer was assigned it once more.
        ({**LATE, "group_events": [FIRST, SECOND, left(2, at=420, change="closed")]}, "holds", 1),
        ({**LATE, "group_events": [FIRST, SECOND, owned(1, at=420)]}, "holds", 1),
        # Within the clocks' bound of the other one's assignment.
        (
            {
                **LATE,
                "commits": [told_commit(3, at=340 * MS)],
                "committed_offsets": [committed(3, 0, at=335 * MS)],
            },
            "holds",
            1,
        ),
        # Both committed that offset: one of both was stored.
        (
            {**LATE, "commits": [*LATE["commits"], told_commit(3, life=2, at=445 * MS)]},
            "undecided",
            2,
        ),
        ({**LATE, "commits": [told_commit(3, at=450 * MS, outcome="failed")]}, "not_evaluable", 0),
        ({"group_events": [FIRST]}, "not_evaluable", 0),
    ],
)
def test_only_who_owns_a_partition_commits_on_it(
    make_trace: TraceMaker, rows: Rows, verdict: str, evaluated: int
) -> None:
    found = result(make_trace, Check.COMMIT_FROM_OLD_GENERATION, {**IN_TURN, **rows})
    assert (found.verdict, found.evaluated) == (verdict, evaluated)


STILL = [*polled(0, 1, at=200 * MS), *polled(2, at=600 * MS), *polled(2, 3, life=2, at=400 * MS)]
ZOMBIE = {"group_events": [FIRST, SECOND], "polls": STILL}


@pytest.mark.parametrize(
    ("rows", "verdict", "evaluated"),
    [
        ({}, "holds", 1),
        (ZOMBIE, "undecided", 1),
        ({**ZOMBIE, "polls": [*STILL, *polled(3, life=2, at=700 * MS)]}, "violated", 1),
        # Cut off, or standing still, it can't know; a fault before its time is no excuse.
        (
            {
                **ZOMBIE,
                "polls": [*STILL, *polled(3, life=2, at=700 * MS)],
                "faults": [{**HEALTHY["faults"][0], "injected_micros": 300 * MS}],
            },
            "permitted",
            1,
        ),
        (
            {
                **ZOMBIE,
                "polls": [*STILL, *polled(3, life=2, at=700 * MS)],
                "faults": [
                    {**HEALTHY["faults"][0], "injected_micros": 10, "healed_micros": 50 * MS}
                ],
            },
            "violated",
            1,
        ),
        # The same member again, or another partition, is no other owner.
        ({"group_events": [FIRST, owned(1, at=300)], "polls": STILL[:3]}, "not_evaluable", 0),
        ({"group_events": [FIRST, {**SECOND, "partition": 1}]}, "not_evaluable", 0),
    ],
)
def test_a_partition_has_one_owner_at_a_time(
    make_trace: TraceMaker, rows: Rows, verdict: str, evaluated: int
) -> None:
    found = result(make_trace, Check.DOUBLE_OWNERSHIP, {**IN_TURN, **rows})
    assert (found.verdict, found.evaluated) == (verdict, evaluated)


def in_generation(member: str, *, at: int) -> Row:
    return {**owned(1, at=at), "member": member, "generation": 5}


def given(member: str, offset: int, *, at: int) -> list[Row]:
    return [{**row, "member": member} for row in polled(offset, at=at * MS)]


@pytest.mark.parametrize(
    ("second", "polls", "is_static", "verdict"),
    [
        ("g#2.1", [], True, "not_evaluable"),
        ("g#2.1", [*given("g#1.1", 0, at=200), *given("g#2.1", 1, at=400)], True, "holds"),
        ("g#2.1", [], False, "violated"),
        ("g#2.2", [], True, "violated"),
        # The newer process takes the place of the older one, which learns it by its next response.
        ("g#2.1", [*given("g#1.1", 0, at=400), *given("g#2.1", 1, at=500)], True, "holds"),
        ("g#2.1", given("g#1.1", 0, at=4000), True, "undecided"),
    ],
)
def test_a_restarted_static_member_keeps_its_partitions(
    make_trace: TraceMaker, second: str, polls: list[Row], *, is_static: bool, verdict: str
) -> None:
    rows = {
        **IN_TURN,
        "group_events": [in_generation("g#1.1", at=100), in_generation(second, at=300)],
        "polls": [*polls, {**polled(0)[0], "partition": 1}],
    }
    settings = {"group.instance.id": "{number}"} if is_static else {}
    found = result(make_trace, Check.DOUBLE_OWNERSHIP, rows, settings=settings)
    assert found.verdict == verdict, found.reason


def test_an_overlap_is_told_in_milliseconds(make_trace: TraceMaker) -> None:
    rows = {**IN_TURN, **ZOMBIE, "polls": [*STILL, *polled(3, life=2, at=700 * MS)]}
    (one,) = result(make_trace, Check.DOUBLE_OWNERSHIP, rows).examples
    assert one.evidence["overlap_ms"] == 200
    assert (one.evidence["member"], one.evidence["other"]) == ("g#1", "g#2")


def again(*offsets: int) -> list[Row]:
    """What the second member was delivered."""
    return [*polled(0, 1, at=200 * MS), *polled(*offsets, life=2, at=400 * MS)]


@pytest.mark.parametrize(
    ("rows", "verdict", "kind"),
    [
        ({}, "holds", None),
        ({"polls": again(1, 2, 3)}, "violated", "behind"),
        ({"polls": again(3)}, "violated", "ahead"),
        ({"polls": again(3), "replica_records": survived(0, 1, 3)}, "holds", None),
        (
            {"polls": again(1, 2), "resets": [reset_told("truncation", 2, 0, 1, at=290 * MS)]},
            "permitted",
            "truncation",
        ),
        # Reset when it was assigned before, or only after it had begun; or somebody else was.
        (
            {
                "group_events": [owned(1, at=100), owned(1, at=300)],
                "polls": [*polled(0, 1, at=200 * MS), *polled(1, at=400 * MS)],
                "resets": [reset_told("no_commit", 0, -1, 0, life=1, at=150 * MS)],
            },
            "violated",
            "behind",
        ),
        (
            {"polls": again(1, 2), "resets": [reset_told("truncation", 2, 0, 1, at=500 * MS)]},
            "violated",
            "behind",
        ),
        (
            {
                "polls": again(1, 2),
                "resets": [reset_told("truncation", 2, 0, 1, life=1, at=290 * MS)],
            },
            "violated",
            "behind",
        ),
        # Nothing was delivered: its own position counts.
        ({"polls": again()[:2]}, "holds", None),
        (
            {"polls": again()[:2], "group_events": [FIRST, owned(2, at=300, position=1)]},
            "violated",
            "behind",
        ),
        # The last commit before counts, not a later one.
        ({"committed_offsets": [committed(1, 0, at=210 * MS), committed(2, 0, at=240 * MS)]},
         "holds", None),
    ],
)  # fmt: skip
def test_a_member_begins_where_its_group_had_committed(
    make_trace: TraceMaker, rows: Rows, verdict: str, kind: str | None
) -> None:
    history = {
        **IN_TURN,
        "sends": sent(0, 1, 2, 3),
        "log_starts": log_bounds(0, 4),
        **rows,
    }
    found = result(make_trace, Check.START_MISMATCH, history)
    assert (found.verdict, found.evaluated) == (verdict, 1)
    assert [one.kind for one in found.examples] == ([kind] if kind else [])


@pytest.mark.parametrize("commits", [[], [{**committed(2, 0, at=240 * MS), "producer_id": 7}]])
def test_without_a_commit_that_stood_no_start_is_judged(
    make_trace: TraceMaker, commits: list[Row]
) -> None:
    rows = {**IN_TURN, "committed_offsets": commits, "polls": again(1)}
    assert result(make_trace, Check.START_MISMATCH, rows).verdict == "not_evaluable"
