"""Acknowledged commits that `__consumer_offsets` lacks: lost, compacted, or never asked for."""

from tests.exam.history import NONE, UNDECIDED, History, asks
from tests.exam.verbs import first_start, joined, left, plain

COMPACTED = (
    "Cleaner.shouldRetainRecord: compaction keeps the last record of a key; "
    "CoordinatorRuntime: a response waits until the records of its write are committed"
)
CONSUMED = (
    "SubscriptionState.allConsumed, called once commitSync() has begun; contract/outcomes.py: "
    "unknown"
)


@asks(
    "Of three acknowledged commits only the last is in the log of a group's offsets partition.",
    source=COMPACTED,
    expects={"lost_commit": UNDECIDED, "commit_mismatch": NONE, "commit_regressed": NONE},
)
def compaction_kept_the_last_commit(h: History) -> None:
    _three_commits(h, stored=(90,))


@asks(
    "A new leader of one partition invalidates its position while a plain commit of two begins.",
    source=CONSUMED + "; KIP-951: a response to Fetch names the new leader",
    expects={"lost_commit": NONE, "commit_mismatch": NONE, "history_complete": NONE},
)
def plain_commit_leaves_a_position_out(h: History) -> None:
    h.topic(partitions=2)
    h.group()
    plain(h, 99)
    plain(h, 99, partition=1)
    joined(h, 0, at=5.0, partitions=(0, 1))
    for partition, producer in enumerate(("p", "p1")):
        h.polled(0, 49, at=6.0, partition=partition, producer=producer)
        h.commit(50, 0, at=8.0, brokers=(1, 2), generation=1, partition=partition)
        h.polled(50, 69, at=9.0, partition=partition, producer=producer)
    h.commit(70, 0, at=12.0, stored=False, outcome="unknown", generation=1)
    h.commit(70, 0, at=12.0, brokers=(1, 2), generation=1, partition=1)
    for partition in (0, 1):
        h.commit(70, 0, at=14.0, brokers=(1, 2), generation=1, partition=partition)
    left(h, 70, at=80.0)


@asks(
    "A position is reset to 0 while a plain commit begins, which stores it.",
    source=CONSUMED + "; AbstractCoordinator.HeartbeatThread: it receives responses, too",
    expects={"lost_commit": NONE, "commit_mismatch": NONE, "history_complete": NONE},
)
def plain_commit_takes_a_position_of_that_moment(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    h.changed("opened", at=4.0)
    h.changed("assigned", at=4.5, position=None, generation=1)
    first_start(h, 0, at=5.0)
    h.commit(0, -1, at=5.01, outcome="unknown", brokers=(1, 2), generation=1)
    h.polled(0, 99, at=6.0)
    left(h, 100, at=80.0, caught_up=True)


def _three_commits(h: History, *, stored: tuple[int, ...]) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    joined(h, 0, at=5.0)
    read = 0
    for at, offset in ((8.0, 50), (12.0, 70), (16.0, 90)):
        h.polled(read, offset - 1, at=at - 1)
        is_stored = offset in stored
        h.commit(
            offset, 0, at=at, stored=is_stored, brokers=(1, 2) if is_stored else None, generation=1
        )
        read = offset
    left(h, 90, at=80.0)
