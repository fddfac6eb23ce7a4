"""The state of the protocol at each event: what held then, and `unknown` where that is not shown.

The histories are of group g, and of partition 0 of topic t with two replicas. The group's partition
of `__consumer_offsets` is 0. Clocks are compared within 50 ms.
"""

from typing import Any

import pytest
from conftest import TraceMaker
from micro import Row, changed, committed, led, log_bounds, log_started, sampled

SECOND = 1_000_000
STATES = "select * from protocol_states order by at_micros, source"
OFFSETS = {"topic": "__consumer_offsets"}


def states(make_trace: TraceMaker, rows: dict[str, list[Row]], **plan: Any) -> list[Row]:
    return make_trace(rows, min_insync=2, **plan).ask(STATES)


def at(rows: list[Row], second: float, *, source: str = "commits") -> Row:
    (found,) = [
        row for row in rows if row["at_micros"] == second * SECOND and row["source"] == source
    ]
    return found


def elected(epoch: int, second: float, *, leader: int = 1, isr: list[int] | None = None) -> Row:
    return led(epoch, at=int(second * SECOND), leader=leader) | {"isr": isr or [leader]}


def coordinated(epoch: int, second: float, *, leader: int = 1) -> Row:
    return elected(epoch, second, leader=leader) | OFFSETS


def stored(
    offset: int, epoch: int, second: float, *, log_epoch: int = 0, brokers: tuple[int, ...] = (1,)
) -> Row:
    found = committed(offset, epoch, at=int(second * SECOND))
    return found | {"log_epoch": log_epoch, "brokers": list(brokers)}


def event(change: str, second: float, *, life: int = 1) -> Row:
    nowhere = {"topic": "", "partition": -1}
    return changed(change, life=life, at=int(second * SECOND)) | nowhere


def test_a_commit_is_seen_with_the_partition_as_it_is_then(make_trace: TraceMaker) -> None:
    found = states(
        make_trace,
        {
            "leaderships": [elected(0, 1, isr=[1, 2]), elected(1, 10), coordinated(0, 1)],
            "committed_offsets": [stored(5, 0, 5), stored(5, 0, 12), stored(6, -1, 13)],
        },
    )
    before, after, without = at(found, 5), at(found, 12), at(found, 13)
    assert (before["leader"], before["isr"], before["gap"]) == ("led", "full", "0")
    assert (after["leader"], after["isr"], after["gap"]) == ("led", "below", "1")
    assert (without["gap"], without["record"]) == ("none", "none")


def test_what_changes_within_the_clock_bound_is_unknown(make_trace: TraceMaker) -> None:
    found = states(
        make_trace,
        {
            "leaderships": [elected(0, 1, isr=[1, 2]), elected(1, 10), coordinated(0, 1)],
            "committed_offsets": [stored(5, 0, 9.96), stored(5, 0, 10.04), stored(5, 0, 10.2)],
        },
    )
    for second in (9.96, 10.04):
        near = at(found, second)
        assert (near["leader"], near["isr"], near["gap"]) == ("led", "unknown", "unknown")
    assert at(found, 10.2)["gap"] == "1"


def test_a_change_of_the_partition_is_exact(make_trace: TraceMaker) -> None:
    changes = [elected(0, 1, isr=[1, 2]), elected(1, 10), elected(1, 10.01, isr=[1, 2])]
    changes[2] |= {"metadata_offset": 10_020_000}
    found = states(make_trace, {"leaderships": [*changes, coordinated(0, 1)]})
    rows = [row["isr"] for row in found if row["at_micros"] > SECOND]
    assert rows == ["below", "full"]


@pytest.mark.parametrize(
    ("isr", "replicas", "min_insync", "named"),
    [
        ([1, 2, 3], [1, 2, 3], 2, "full"),
        ([1, 2], [1, 2, 3], 2, "shrunk"),
        ([1], [1, 2, 3], 1, "one"),
        ([1], [1, 2, 3], 2, "below"),
        ([1], [1], 2, "full"),
        ([], [1, 2, 3], 1, "below"),
    ],
)
def test_the_isr(
    make_trace: TraceMaker, isr: list[int], replicas: list[int], min_insync: int, named: str
) -> None:
    row = elected(0, 1) | {"isr": isr, "replicas": replicas}
    trace = make_trace({"leaderships": [row, coordinated(0, 1)]}, min_insync=min_insync)
    assert {row["isr"] for row in trace.ask(STATES)} == {named}


def test_a_partition_without_a_leader(make_trace: TraceMaker) -> None:
    rows = {"leaderships": [elected(0, 1), elected(1, 5, leader=-1, isr=[1]), coordinated(0, 1)]}
    assert at(states(make_trace, rows), 5, source="controller")["leader"] == "none"


def test_a_deposed_leader_that_answers_is_the_second_one(make_trace: TraceMaker) -> None:
    answers = [
        sampled(9, at=SECOND * at, epoch=0, broker=1) | {"asked_micros": SECOND * at}
        for at in (4, 8)
    ]
    found = states(
        make_trace,
        {
            "leaderships": [elected(0, 1), elected(1, 5, leader=2), coordinated(0, 1)],
            "samples": answers,
            "committed_offsets": [stored(5, 0, 3), stored(5, 0, 7), stored(5, 0, 9)],
        },
    )
    assert [at(found, second)["leader"] for second in (3, 7, 9)] == ["led", "two", "led"]
    assert at(found, 5, source="controller")["leader"] == "two"
    assert at(found, 8, source="leaders")["leader"] == "two"


def test_an_answer_before_the_election_shows_no_second_leader(make_trace: TraceMaker) -> None:
    late = sampled(9, at=6 * SECOND, epoch=0, broker=1) | {"asked_micros": 4 * SECOND}
    found = states(
        make_trace,
        {
            "leaderships": [elected(0, 1), elected(1, 5, leader=2), coordinated(0, 1)],
            "samples": [late],
        },
    )
    assert {row["leader"] for row in found} == {"led"}


def test_without_a_commit_nothing_of_one_is_known(make_trace: TraceMaker) -> None:
    rows = {
        "leaderships": [elected(0, 1), elected(1, 5), coordinated(0, 1)],
        "committed_offsets": [stored(5, 0, 8)],
    }
    first = at(states(make_trace, rows), 5, source="controller")
    of_commit = {first[name] for name in ("gap", "log_start", "record", "coordinator")}
    assert of_commit == {"no commit"}


def test_a_deleted_commit_is_none(make_trace: TraceMaker) -> None:
    deleted = stored(5, 0, 8) | {"offset": None, "committed_epoch": None, "is_tombstone": True}
    rows = {
        "leaderships": [elected(0, 1), coordinated(0, 1)],
        "committed_offsets": [stored(5, 0, 6), deleted],
    }
    found = states(make_trace, rows)
    assert (at(found, 6)["gap"], at(found, 8)["gap"]) == ("0", "no commit")


@pytest.mark.parametrize(
    ("committed_epoch", "gap"), [(-1, "none"), (3, "0"), (2, "1"), (1, "more"), (4, "ahead")]
)
def test_the_gap_of_epochs(make_trace: TraceMaker, committed_epoch: int, gap: str) -> None:
    rows = {
        "leaderships": [elected(3, 1), coordinated(0, 1)],
        "committed_offsets": [stored(5, committed_epoch, 8)],
    }
    assert at(states(make_trace, rows), 8)["gap"] == gap


def test_the_coordinator_since_the_last_commit(make_trace: TraceMaker) -> None:
    found = states(
        make_trace,
        {
            "leaderships": [
                elected(0, 1),
                coordinated(0, 1),
                coordinated(1, 5, leader=-1),
                coordinated(2, 6, leader=2),
            ],
            "committed_offsets": [
                stored(5, 0, 4, brokers=(1, 2)),
                stored(6, 0, 8, log_epoch=2, brokers=(1, 2)),
            ],
        },
    )
    places = [(4, "commits"), (5, "controller"), (6, "controller"), (8, "commits")]
    named = [at(found, second, source=source)["coordinator"] for second, source in places]
    assert named == ["same", "none", "moved", "same"]


def test_where_the_epoch_of_the_offsets_partition_is_not_known(make_trace: TraceMaker) -> None:
    rows = {
        "leaderships": [elected(0, 1), coordinated(0, 1)],
        "committed_offsets": [stored(5, 0, 4) | {"log_epoch": None}],
    }
    assert at(states(make_trace, rows), 4)["coordinator"] == "unknown"


def test_a_commit_that_did_not_survive_is_known_when_it_is_stored_only(
    make_trace: TraceMaker,
) -> None:
    found = states(
        make_trace,
        {
            "leaderships": [
                elected(0, 1),
                coordinated(0, 1),
                coordinated(1, 5, leader=2),
                elected(1, 6),
            ],
            "committed_offsets": [stored(5, 0, 4, brokers=(1,))],
        },
    )
    assert at(found, 4)["gap"] == "0"
    assert at(found, 6, source="controller")["gap"] == "unknown"


@pytest.mark.parametrize(("start", "named"), [(3, "before"), (5, "at"), (7, "after")], ids=str)
def test_the_log_start_against_the_commit(make_trace: TraceMaker, start: int, named: str) -> None:
    found = states(
        make_trace,
        {
            "leaderships": [elected(0, 1), coordinated(0, 1)],
            "log_start_changes": [log_started(start, at=6 * SECOND)],
            "log_starts": log_bounds(start, 20),
            "committed_offsets": [stored(5, 0, 4), stored(5, 0, 8)],
        },
    )
    assert at(found, 8)["log_start"] == named
    assert at(found, 4)["log_start"] == "before"


def test_members_are_those_that_are_open(make_trace: TraceMaker) -> None:
    found = states(
        make_trace,
        {
            "leaderships": [elected(0, 1), coordinated(0, 1)],
            "group_events": [
                event("opened", 3),
                event("opened", 5, life=2),
                event("closed", 7),
                event("closed", 9, life=2),
            ],
            "committed_offsets": [stored(5, 0, second) for second in (2, 4, 6, 8, 9.01, 10)],
        },
    )
    opened = [at(found, second, source="members")["members"] for second in (3, 5, 7, 9)]
    assert opened == ["1", "more", "1", "0"]
    named = [at(found, second)["members"] for second in (2, 4, 6, 8, 9.01, 10)]
    assert named == ["0", "1", "more", "1", "unknown", "0"]


def test_each_state_is_reached_with_the_events_that_saw_them(make_trace: TraceMaker) -> None:
    rows = {
        "leaderships": [elected(0, 1, isr=[1, 2]), coordinated(0, 1)],
        "committed_offsets": [stored(5, 0, 4), stored(6, 0, 5), stored(6, -1, 6)],
    }
    trace = make_trace(rows, min_insync=2)
    reached = trace.ask("select * from reached_states order by first_micros")
    counts = [(row["gap"], row["events"], row["pairs"], row["groups"]) for row in reached]
    assert ("0", 2, 1, ["g"]) in counts
    assert ("none", 1, 1, ["g"]) in counts
    assert next(row for row in reached if row["gap"] == "0")["first_micros"] == 4 * SECOND


@pytest.mark.parametrize(
    "table", ["leaderships", "committed_offsets", "group_events", "transactions", "samples"]
)
def test_where_a_table_is_missing_no_state_is_known(make_trace: TraceMaker, table: str) -> None:
    rows = {
        "leaderships": [elected(0, 1), coordinated(0, 1)],
        "committed_offsets": [stored(5, 0, 4)],
    }
    assert make_trace(rows).ask("select * from reached_states")
    assert make_trace(rows, missing=(table,)).ask("select * from reached_states") == []
