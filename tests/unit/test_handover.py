"""The stories of docs/handover.md, of coordinators and of readers, and the rows of its tables."""

from pathlib import Path
from typing import Any

import msgspec
from conftest import TraceMaker
from micro import Row, committed, led, polled

from studies import handover_readers
from studies.handover import Story, answers, controls, ends, together
from studies.handover_readers import Reader
from tests.made import made

STUDIES = Path(__file__).resolve().parents[2] / "studies"
STATEMENT = (STUDIES / "handover.sql").read_text()
OF_READERS = (STUDIES / "handover_readers.sql").read_text()
OFFSETS = "__consumer_offsets"
SECOND = 1_000_000


def called(api: str, *, at: float, error: int, took: float = 0.01, **columns: Any) -> Row:
    """A call of broker 2 that ended `at` seconds, about partition 0."""
    return {
        "worker": "observer",
        "seq": round(at * SECOND),
        "broker": 2,
        "api": api,
        "api_key": 9,
        "version": 8,
        "topic": "t",
        "partition": 0,
        "error_code": error,
        "request": "{}",
        "began_micros": round((at - took) * SECOND),
        "at_micros": round(at * SECOND),
        "group": "read-0",
        **columns,
    }


def fetched(at: float, offset: int = -1, *, error: int = 0, **columns: Any) -> Row:
    return called(
        "OFFSET_FETCH", at=at, error=error, offset=offset, **{"is_stable": False, **columns}
    )


def watermark(at: float, error: int) -> Row:
    return called("LIST_OFFSETS", at=at, error=error, topic=OFFSETS, group=None)


COMMITTED = called("OFFSET_COMMIT", at=1.5, error=0, broker=1, asked_offset=100)
STALE = [
    fetched(1, error=16),
    COMMITTED,
    fetched(2, error=16),
    fetched(2.5, error=14),
    watermark(2.6, 5),
    fetched(3, 50),
    fetched(3, partition=1),
    fetched(5, 50),
    watermark(6.9, 0),
    fetched(7, 100),
    fetched(7, 100, partition=1),
    fetched(7.1, 100, is_stable=True, took=4),
]
CUT = {
    "fault": "cut replication",
    "target_kind": "broker",
    "brokers": [2],
    "landed": True,
    "injected_micros": round(1.6 * SECOND),
    "healed_micros": round(6.5 * SECOND),
}


def told(make_trace: TraceMaker, calls: list[Row], **tables: list[Row]) -> Row:
    rows = {"wire_calls": calls, "committed_offsets": [{**committed(100, 0), "group": "read-0"}]}
    (row,) = make_trace(rows | tables).ask(STATEMENT)
    return row


def test_a_window_lasts_from_the_first_older_commit_to_the_right_one(
    make_trace: TraceMaker,
) -> None:
    alone = {**led(1, at=4 * SECOND, leader=2), "topic": OFFSETS}
    row = told(make_trace, STALE, faults=[CUT], leaderships=[alone])
    assert row == {
        "until": "read",
        "group": "read-0",
        "is_control": False,
        "is_reached": True,
        "plain_responses": 5,
        "older": 2,
        "none": 1,
        "stable_stale": 0,
        "refused": 0,
        "window_ms": 4000,
        "waited_ms": 4000,
        "watermark_ms": 3900,
        "healed_ms": 3500,
        "alone_ms": 1000,
    }


def test_a_paused_follower_hinders_the_successor_as_a_cut_does(make_trace: TraceMaker) -> None:
    of_old = {**CUT, "fault": "pause", "brokers": [1]}
    assert told(make_trace, STALE, faults=[of_old])["is_control"]
    row = told(make_trace, STALE, faults=[{**CUT, "fault": "pause", "brokers": [3]}])
    assert (row["is_control"], row["healed_ms"]) == (False, 3500)


def test_a_refusal_counts_once_the_broker_is_the_coordinator(make_trace: TraceMaker) -> None:
    early, late = (fetched(at, error=16, is_stable=True, took=1) for at in (2, 6))
    assert told(make_trace, [*STALE, early])["refused"] == 0
    assert told(make_trace, [*STALE, late])["refused"] == 1


def test_without_an_older_commit_there_is_no_window(make_trace: TraceMaker) -> None:
    row = told(make_trace, [fetched(1, error=16), COMMITTED, fetched(3, 100)])
    assert (row["is_control"], row["is_reached"], row["older"]) == (True, False, 0)
    assert (row["window_ms"], row["healed_ms"]) == (None, None)


TOLD = made(
    Story,
    kafka="4.4.0",
    seed=1,
    how="killed",
    followers="cut",
    is_new=True,
    min_insync=2,
    lag_ms=3000,
    session_ms=3000,
    wait_ms=500,
    until="read",
    is_reached=True,
    plain_responses=9,
    older=3,
    none=3,
    window_ms=4000,
    healed_ms=3500,
)
CONTROL = msgspec.structs.replace(
    TOLD, until="control", is_control=True, older=0, none=0, window_ms=None, healed_ms=None
)
MISSED = msgspec.structs.replace(
    TOLD, is_reached=False, older=0, none=0, window_ms=None, healed_ms=None
)
LONGER = msgspec.structs.replace(TOLD, window_ms=6000, refused=1, alone_ms=2000)


def test_stories_in_which_the_commit_was_known_are_not_counted_as_right() -> None:
    paused = msgspec.structs.replace(TOLD, followers="paused")
    row, other = answers([TOLD, LONGER, MISSED, CONTROL, paused])
    assert (row["followers"], other["followers"]) == ("cut", "paused")
    assert other["reached"] == "1 of 1"
    assert row["reached"] == "2 of 3"
    assert row["stale"] == "2 of 2"
    assert row["window"] == "5.0 (4.0 to 6.0)"
    assert (row["stable"], row["refused"]) == ("0 of 2", "1 of 2")


def test_controls_are_told_by_how_late_a_follower_learns_of_the_high_watermark() -> None:
    late = msgspec.structs.replace(CONTROL, wait_ms=1500, older=2, window_ms=700)
    rows = controls([TOLD, CONTROL, late])
    assert [(row["wait"], row["stale"], row["window"]) for row in rows] == [
        ("0.5", "0 of 1", ""),
        ("1.5", "1 of 1", "0.7"),
    ]


def test_windows_are_told_by_setting_and_by_what_ended_the_cut() -> None:
    paused = msgspec.structs.replace(TOLD, followers="paused")
    rows = ends([TOLD, LONGER, CONTROL, msgspec.structs.replace(TOLD, min_insync=1), paused])
    assert [(row["followers"], row["min_insync"], row["stories"]) for row in rows] == [
        ("cut", "2", "2"),
        ("cut", "1", "1"),
        ("paused", "2", "1"),
    ]
    assert rows[0]["alone"] == "2.0, 1 of 2"
    assert rows[0]["after"] == "1.5 (0.5 to 2.5)"


def test_a_run_that_is_read_again_takes_its_former_place() -> None:
    other = msgspec.structs.replace(TOLD, seed=2)
    assert together([TOLD, other], [LONGER]) == [LONGER, other]


def by(member: str, offset: int | None, *, at: float, outcome: str = "ok") -> Row:
    """A commit of a member of the group that the broker is asked about."""
    return {
        "worker": "w",
        "group": "read-0",
        "member": f"read-0#{member}",
        "topic": "t",
        "partition": 0,
        "offset": offset,
        "outcome": outcome,
        "seq": round(at * SECOND),
        "committed_micros": round(at * SECOND),
    }


def delivered(member: str, offset: int, *, at: float) -> Row:
    (row,) = polled(offset, at=round(at * SECOND))
    return {**row, "group": "read-0", "member": f"read-0#{member}"}


def caught_up(position: int, *, at: float) -> Row:
    row = by("2", None, at=at) | {"change": "caught_up", "position": position}
    return row | {"at_micros": row["seq"]}


FIRST = [by("1", 50, at=1), by("1", 100, at=2)]


def read(make_trace: TraceMaker, **tables: list[Row]) -> Row:
    rows = {"wire_calls": [fetched(1.5, 50), fetched(3, 50)], "commits": FIRST}
    (row,) = make_trace(rows | tables).ask(OF_READERS)
    return row


def test_a_reader_began_at_its_first_delivery_and_what_it_committed_then_counts(
    make_trace: TraceMaker,
) -> None:
    polls = [delivered("1", 0, at=1), delivered("2", 60, at=5), delivered("2", 50, at=4)]
    commits = [*FIRST, by("2", None, at=5, outcome="nothing"), by("2", 60, at=6), by("2", 70, at=7)]
    row = read(make_trace, polls=polls, commits=commits)
    assert row == {
        "group": "read-0",
        "is_reached": True,
        "due_offset": 100,
        "began_at": 50,
        "next_offset": 60,
    }


def test_a_reader_without_a_delivery_began_at_its_own_position_or_nowhere(
    make_trace: TraceMaker,
) -> None:
    assert read(make_trace, group_events=[caught_up(120, at=4)])["began_at"] == 120
    row = read(make_trace)
    assert (row["began_at"], row["next_offset"]) == (None, None)


def test_a_state_is_reached_by_an_older_commit_after_the_last_one(make_trace: TraceMaker) -> None:
    early = [fetched(1.5, 50), fetched(3, 100), fetched(4, 50, is_stable=True)]
    assert not read(make_trace, wire_calls=early)["is_reached"]


READER = Reader(
    client="kafka-python 3.0.12",
    kafka="4.4.0",
    begins="assigned",
    has="older",
    reset="earliest",
    isolation="read_uncommitted",
    seed=1,
    is_reached=True,
    due_offset=100,
    began_at=50,
    next_offset=60,
)


def test_readers_are_counted_by_kind_and_version() -> None:
    stuck = msgspec.structs.replace(READER, seed=2, began_at=None, next_offset=None)
    other = msgspec.structs.replace(READER, kafka="3.9.2", is_reached=False, began_at=100)
    kept = handover_readers.together([stuck], [READER, other])
    rows = handover_readers.counted(kept)
    assert [(row["kafka"], row["reached"], row["began"], row["next"]) for row in rows] == [
        ("3.9.2", "0 of 1", "100: 1 of 1", "60: 1 of 1"),
        ("4.4.0", "2 of 2", "50: 1 of 2, nothing: 1 of 2", "60: 1 of 2, nothing: 1 of 2"),
    ]
    assert rows[1]["seeds"] == "1, 2"
    assert handover_readers.together(kept, [READER, stuck, other]) == kept
