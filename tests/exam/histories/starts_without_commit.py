"""Where a member starts that its coordinator returned no commit."""

from typing import Any

from tests.exam.history import PERMITTED, VIOLATION, History, asks_each
from tests.exam.verbs import first_start, joined, left, plain

_OPENED = 30.0
"""When the second member is opened."""


@asks_each(
    "A group committed 50. A later member logs that it found no commit, and starts at 0. That",
    source="Kafka's documentation, auto.offset.reset: when there is no initial offset; "
    "Distribution, Consumer Offset Tracking: a coordinator returns the last committed offsets",
    check="start_mismatch",
    cases={
        "was acknowledged before that member was opened.": (
            f"{VIOLATION}: for want of a commit: the member found no commit and began at 0, but 50",
            {},
        ),
        "was acknowledged a moment before, within the clock bound.": (
            f"{PERMITTED}: no_commit",
            {"at": _OPENED - 0.02},
        ),
        "was acknowledged only after that.": (f"{PERMITTED}: no_commit", {"at": _OPENED + 0.1}),
        "has an unknown outcome: it was in the log, but not acknowledged.": (
            f"{PERMITTED}: no_commit",
            {"outcome": "unknown"},
        ),
    },
)
def member_is_returned_no_commit(h: History, *, at: float = 10.0, outcome: str = "ok") -> None:
    _reads_50(h)
    h.commit(50, 0, at=at, outcome=outcome)
    _starts(h)


@asks_each(
    "Another partition's, offset's or group's commit was acknowledged; this one was not.",
    source="KafkaConsumer.commitSync: per partition; the group's own",
    check="start_mismatch",
    cases={
        "Another offset.": (f"{PERMITTED}: no_commit", {"offset": 40}),
        "Another partition.": (f"{PERMITTED}: no_commit", {"partition": 1}),
        "Another group.": (f"{PERMITTED}: no_commit", {"group": "other"}),
    },
)
def commit_of_something_else_is_acknowledged(h: History, *, offset: int = 50, **place: Any) -> None:
    _reads_50(h)
    h.commit(50, 0, at=10.0, outcome="unknown")
    h.commit(offset, 0, at=10.0, stored=False, **place)
    _starts(h)


def _reads_50(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    joined(h, 0, at=3.0)
    h.polled(0, 49, at=4.0)


def _starts(h: History) -> None:
    left(h, 50, at=29.0)
    joined(h, 0, at=30.5, member="2", generation=3)
    first_start(h, 0, at=30.8, member="2")
    h.polled(0, 99, at=32.0, member="2")
    left(h, 100, at=80.0, member="2", generation=3, caught_up=True)
