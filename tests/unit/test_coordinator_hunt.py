"""Who was returned older commits when the coordinator changed: counted in tables, and summed up."""

from typing import Any

import pytest
from conftest import TraceMaker
from micro import Row, changed, committed, led, log_bounds, polled, reported_commit, survived
from msgspec.structs import replace
from pages_of import phase, verdict_of

from scenarios.coordinator_hunt_test import CHANGES, GROUPS, faults, is_assigned, is_unstable
from studies.hunt.coordinators import Reads, Story, by_reader, of_java, story_of
from studies.hunt.page import part
from tests.made import made

RESUMES = Reads(
    group="java.assigned",
    how="resumes",
    is_cut=True,
    cases=400,
    failed=0,
    exposed=40,
    older=0,
)
ADMIN = replace(RESUMES, group="kafka-python.subscribed", how="Admin", cases=300, older=30)
STORY = made(
    Story,
    kafka="4.4.0",
    seed=1,
    wait_ms=500,
    seconds=360.0,
    changes={"kill": 3, "stop": 4},
    cut=5,
    reads=[RESUMES, replace(RESUMES, is_cut=False, cases=200), ADMIN],
    verdict="pass",
)


def test_each_reader_is_summed_up_over_stories() -> None:
    rows = list(by_reader([STORY, replace(STORY, seed=2)]))
    assert rows == [
        ("4.4.0", "Admin", "", "60 of 600", "0 of 0", "80", "0"),
        ("4.4.0", "java", "resumes, assigned", "0 of 800", "0 of 400", "160", "0"),
    ]


def test_nothing_older_is_a_bound() -> None:
    (line,) = of_java([STORY])
    assert line.startswith("`resumes`: 0 of 600 (at most 0.5 %")
    assert line.endswith("80 of them exposed")


def test_the_page_has_both_hunts() -> None:
    page = part([], [STORY])
    assert "1 stories of `coordinator_hunt`, 0.1 hours" in page
    assert "| 4.4.0 | 500 | 1 | 6 | kill 3, stop 4 | 5 | 0 | pass |" in page


def read(offset: int, *, at: int, seq: int, is_stable: bool = False) -> Row:
    return {
        "worker": "observer",
        "group": "g",
        "member": "",
        "topic": "t",
        "partition": 0,
        "offset": offset,
        "epoch": -1,
        "is_stable": is_stable,
        "by": "admin",
        "seq": seq,
        "began_micros": at - 5,
        "at_micros": at,
    }


SECOND = 1_000_000
CUT: dict[str, Any] = {
    "fault": "cut replication",
    "target_kind": "broker",
    "brokers": [2],
    "landed": True,
    "injected_micros": 5 * SECOND,
    "healed_micros": 9 * SECOND,
}
READ = {
    "replica_records": survived(0, 1, 2, 3, 4, 5),
    "log_starts": log_bounds(0, 6),
    "leaderships": [
        {**led(0, at=10), "topic": "__consumer_offsets"},
        {**led(1, at=5 * SECOND, leader=2), "topic": "__consumer_offsets"},
    ],
    "phases": [phase("round 1: killed and cut, g commits last", 1 * SECOND, 20 * SECOND)],
    "faults": [CUT],
    "committed_offsets": [
        {**committed(2, 0, at=2 * SECOND), "log_epoch": 0},
        {**committed(4, 0, at=4 * SECOND), "log_epoch": 0},
    ],
    "commits": [
        reported_commit(2, at=2 * SECOND),
        reported_commit(4, at=4 * SECOND),
    ],
    "offset_reads": [
        read(2, at=3 * SECOND, seq=1),
        read(2, at=7 * SECOND, seq=2),
        read(4, at=12 * SECOND, seq=3, is_stable=True),
    ],
    "polls": [*polled(0, 1, 2, 3), *polled(4, 5, life=2, at=8 * SECOND)],
    "group_events": [
        changed("opened", at=150),
        changed("opened", life=2, at=6 * SECOND),
        changed("assigned", life=2, at=7 * SECOND, position=4),
    ],
}


@pytest.mark.parametrize(("begins_at", "older"), [(4, 0), (2, 1)])
def test_an_older_commit_is_counted_where_one_had_been_acknowledged(
    make_trace: TraceMaker, begins_at: int, older: int
) -> None:
    polls = [*polled(0, 1, 2, 3), *polled(*range(begins_at, 6), life=2, at=8 * SECOND)]
    trace = make_trace({**READ, "polls": polls})
    trace.plan.parameters["wait_ms"] = 500
    story = story_of(trace, verdict_of({}))
    assert (story.changes, story.cut) == ({}, 1)
    assert story.reads == [
        Reads(group="g", how="Admin", is_cut=True, cases=1, failed=0, exposed=1, older=1),
        Reads(group="g", how="Admin, stable", is_cut=False, cases=1, failed=0, exposed=1, older=0),
        Reads(group="g", how="resumes", is_cut=True, cases=1, failed=0, exposed=1, older=older),
    ]


@pytest.mark.parametrize("change", CHANGES)
def test_a_cut_comes_before_the_change(change: str) -> None:
    alone, cut = faults(change, 1, 2, is_cut=False), faults(change, 1, 2, is_cut=True)
    assert [str(one.verb) for one in cut] == ["cut replication", *[str(one.verb) for one in alone]]


def test_who_does_not_ask_for_stable_commits() -> None:
    kinds = {one.group.partition(".")[0] for one in GROUPS if is_unstable(one)}
    assert kinds == {"librdkafka-uncommitted", "kafka-python"}
    assert sum(map(is_assigned, GROUPS)) * 2 == len(GROUPS)
