"""Members that begin where a coordinator, which had just taken over, said that their group was."""

from typing import Any

from tests.exam.coordinator_verbs import OFFSETS, TRACKING, returned
from tests.exam.history import NONE, PERMITTED, VIOLATION, History, asks_each
from tests.exam.verbs import first_start, joined, left, plain

START = "ConsumerCoordinator.initWithCommittedOffsetsIfNeeded; " + TRACKING
BEHIND = f"{VIOLATION}: behind: the group had committed 100"
UNEXPLAINED = BEHIND + ' {"member"'


def _changes(h: History) -> None:
    """A group commits 50 and 100 to broker 1; broker 2 coordinates from second 40 on."""
    h.topic()
    h.group()
    plain(h, 199)
    for epoch, (broker, at) in enumerate(((1, 0.5), (2, 40.0))):
        h.led(broker, epoch, at=at, isr=(1, 2), topic=OFFSETS, partition=h.index)
    joined(h, 0, at=5.0)
    h.polled(0, 49, at=6.0)
    h.commit(50, 0, at=20.0, brokers=(1, 2), generation=1)
    h.polled(50, 99, at=21.0)
    h.commit(100, 0, at=38.0, brokers=(1, 2), generation=1)
    for row in h.rows["committed_offsets"]:
        row["log_epoch"] = 0
    left(h, 100, at=39.0)


def _begins(h: History, start: int) -> None:
    joined(h, start, at=45.0, member="2", generation=2)
    h.polled(start, 199, at=46.0, member="2")


@asks_each(
    "A group's next member begins at 50; the coordinator has changed, and has 100. A request",
    source=START,
    check="start_mismatch",
    cases={
        "was answered with 50 by the new coordinator.": (
            BEHIND + "; broker",
            {"offset": 50},
        ),
        "was answered with 50 by the new coordinator, 4.9 s before.": (
            f"{VIOLATION}: behind: had returned that offset when asked 4.9 s before",
            {"offset": 50, "at": 41.1},
        ),
        "was answered with 100.": (UNEXPLAINED, {"offset": 100}),
        "was answered with none.": (
            f"{VIOLATION}: behind: had returned no commit when asked",
            {"offset": -1},
        ),
        "is answered with 50 when the member has begun.": (UNEXPLAINED, {"offset": 50, "at": 47.0}),
        "was answered with 50 while 50 stood.": (
            UNEXPLAINED,
            {"offset": 50, "at": 25.0, "broker": 1},
        ),
    },
)
def member_begins_at_an_older_commit(h: History, *, offset: int, **answer: Any) -> None:
    _changes(h)
    returned(h, offset, **answer)
    h.rows["wire_calls"][-1]["metadata"] = ""
    _begins(h, 50)


@asks_each(
    "Before a member begins, its application asks for what is committed, 100, and is given 50.",
    source="KafkaConsumer.committed: the last committed offsets; " + START,
    check="start_mismatch",
    cases={
        "It begins at 50.": (
            f"{VIOLATION}: behind: committed 100; the coordinator had returned that offset",
            {"start": 50},
        ),
        "It begins at 20.": (UNEXPLAINED, {"start": 20}),
        "It begins at 100.": (NONE, {"start": 100}),
    },
)
def application_is_given_an_older_commit(h: History, *, start: int) -> None:
    _changes(h)
    h.add(
        "offset_reads", worker=h.own("w"), group=h.own("g"), member=h.member("2", "g"),
        topic=h.own("t"), partition=0, offset=50, epoch=0, is_stable=False, by="consumer",
        seq=1000, began_micros=h.at(42.0), at_micros=h.at(42.1),
    )  # fmt: skip
    _begins(h, start)


# All were expected to be permitted: but the policy is for a group without a committed offset, and
# by TRACKING a coordinator returns the last one that was acknowledged, or an error.
@asks_each(
    "A new coordinator returns no commit, and a member finds none: it begins by its policy.",
    source="KIP-211; auto.offset.reset: where there is no committed offset; " + START,
    check="start_mismatch",
    cases={
        "It was returned to a request.": (
            f"{VIOLATION}: for want of a commit: acknowledged before it was opened; broker",
            {"is_asked": True},
        ),
        "Nobody asked.": (
            f"{VIOLATION}: for want of a commit: acknowledged before it was opened {{",
            {"is_asked": False},
        ),
        "It was returned to a request; the member was opened before the commit.": (
            f"{PERMITTED}: no_commit: a reset moved the position; broker",
            {"is_asked": True, "opened": 30.0},
        ),
        "Nobody asked; the member was opened before the commit.": (
            f"{PERMITTED}: no_commit: moved the position {{",
            {"is_asked": False, "opened": 30.0},
        ),
    },
)
def member_finds_no_commit(h: History, *, is_asked: bool, opened: float = 44.5) -> None:
    _changes(h)
    if is_asked:
        returned(h, -1)
    first_start(h, 0, at=44.5, member="2")
    _begins(h, 0)
    (member,) = [
        row
        for row in h.rows["group_events"]
        if (row["change"], row["member"]) == ("opened", h.member("2", "g"))
    ]
    member["at_micros"] = h.at(opened)
