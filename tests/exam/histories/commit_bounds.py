"""Bounds of commits: the end and the start of the log, then and later."""

from tests.exam.history import (
    NONE,
    NOT_VIOLATION,
    PERMITTED,
    UNDECIDED,
    VIOLATION,
    History,
    asks,
    asks_each,
)
from tests.exam.scenes import copies
from tests.exam.verbs import begun, cluster, cut, joined, left, reads_to, watched

POSITION = "KafkaConsumer Javadoc, Offsets and Consumer Position"


@asks(
    "A commit of 150 is accepted while the log ends at 100; later the log grows beyond 150.",
    source="KafkaConsumer.commitSync Javadoc: the committed offset is that of the next record "
    "to be consumed; decision 15: judged by the log of that time",
    expects={"commit_beyond_log": VIOLATION, "commit_beyond_processed": VIOLATION},
)
def commit_beyond_the_log_of_then(h: History) -> None:
    h.topic()
    h.group()
    begun(h)
    h.sent(0, 99, at=2.0)
    watched(h, 1, 100, times=(5.0, 9.0, 12.0, 20.0, 30.0))
    reads_to(h, 99)
    h.commit(150, 0, at=10.0, brokers=(1, 2))
    h.sent(100, 299, at=40.0)
    watched(h, 1, 300, times=(45.0, 55.0, 65.0, 75.0, 85.0))
    h.polled(100, 299, at=42.0)
    left(h, 300, at=80.0, caught_up=True)
    copies(h, (1, 2), (0, 99, 0), (100, 299, 0), high_watermark=300)


@asks(
    "A commit equals the log end, and the log is cut below it later by an unclean election.",
    source="decision 15: judged by the log of that time; KIP-320, Motivation: an unclean "
    "election may lose what was committed",
    expects={
        "commit_beyond_log": NOT_VIOLATION,
        "commit_beyond_processed": NONE,
        "orphan_commit": PERMITTED,
        "commit_expired": NONE,
    },
)
def log_is_cut_below_a_commit(h: History) -> None:
    h.topic(unclean_election=True)
    h.group()
    cut(h, last=69)
    joined(h, 0, at=5.0, generation=1)
    h.polled(0, 49, at=6.0)
    h.polled(50, 99, at=13.0)
    h.commit(100, 0, at=16.0, brokers=(1, 2), generation=1)
    left(h, 100, at=18.0, generation=1)
    h.changed("opened", at=49.5, member="2")
    h.reset("truncation", 100, 50, at=50.0, epoch=0, member="2")
    h.changed("assigned", at=50.1, position=50, member="2", generation=3)
    h.polled(50, 69, at=51.0, epoch=1, member="2", sequence=100)
    left(h, 70, at=80.0, member="2", generation=3, caught_up=True)


@asks(
    "Retention removes 0 to 49 at second 30; at 40 a slow member commits 10, its last record read.",
    source="retention.ms: it doesn't wait for groups",
    expects={"commit_expired": PERMITTED, "commit_beyond_processed": NONE, "lost_commit": NONE},
)
def commit_below_the_log_start(h: History) -> None:
    h.topic(retention_ms=20_000)
    h.group()
    _expire(h)
    h.polled(0, 9, at=6.0)
    h.commit(10, 0, at=40.0, brokers=(1, 2))
    left(h, 10, at=80.0)


@asks(
    "A group has committed 80 when retention removes what is below 50, its older commit 10 too.",
    source="OffsetFetch: a group has one committed offset a partition, the last",
    expects={
        "commit_expired": NONE,
        "commit_regressed": NONE,
        "committed_epoch_expired": NONE,
        "lost_commit": NONE,
    },
)
def superseded_commit_below_the_log_start(h: History) -> None:
    h.topic(retention_ms=20_000)
    h.group()
    _expire(h)
    h.polled(0, 9, at=6.0)
    h.commit(10, 0, at=8.0, brokers=(1, 2))
    h.polled(10, 79, at=10.0)
    h.commit(80, 0, at=12.0, brokers=(1, 2))
    h.polled(80, 99, at=50.0)
    left(h, 100, at=80.0, caught_up=True)


@asks(
    "DeleteRecords moves the log start to 50 exactly, and the group's commit is 50.",
    source="DeleteRecords: the log start is the first offset that can be fetched",
    expects={"commit_expired": NONE, "commit_beyond_log": NONE, "committed_epoch_expired": NONE},
)
def commit_at_the_log_start(h: History) -> None:
    h.topic(deletes=True)
    h.group()
    _expire(h, reason="client delete records request")
    h.polled(0, 49, at=6.0)
    h.commit(50, 0, at=40.0, brokers=(1, 2))
    h.polled(50, 99, at=50.0)
    left(h, 100, at=80.0, caught_up=True)


def _expire(h: History, reason: str = "segment deletion") -> None:
    """0 to 99 are sent at 2; what is below 50 goes at 30; a member has joined."""
    begun(h)
    h.sent(0, 99, at=2.0)
    watched(h, 1, 100, times=(5.0, 15.0, 25.0))
    h.log_started(1, 50, at=30.0, reason=reason)
    follows = reason if reason == "segment deletion" else "leader offset increment"
    h.log_started(2, 50, at=30.5, reason=follows)
    if reason == "segment deletion":
        h.fault("expire by time", h.on_topic("t"), injected=28.0, proved=31.0, healed=31.0)
    else:
        h.fault("expire by order", h.on_topic("t"), injected=29.0, proved=31.0, healed=31.0)
    watched(h, 1, 100, times=(32.0, 39.0, 45.0, 55.0, 65.0, 75.0, 85.0), start=50)
    copies(h, (1, 2), (50, 99, 0), start=50, high_watermark=100, checkpoints={0: 50})
    joined(h, 0, at=5.0)


@asks_each(
    "A commit of 10 is below the log start at the run's end, which is 50.",
    source="DeleteRecords; retention.ms: it doesn't wait for groups; OffsetFetch: a group has one "
    "committed offset a partition, the last",
    check="commit_expired",
    cases={
        "No report and no server tells when it came to pass.": (
            f"{UNDECIDED}: at the end",
            {"is_reported": False},
        ),
        "The topic deletes.": (f"{PERMITTED}: at the end", {}),
        "Nothing in the plan deletes.": (f"{VIOLATION}: at the end", {"deletes": False}),
        "It was overtaken when a member was assigned the partition; the member commits 100.": (
            PERMITTED,
            {"assigned": 40},
        ),
        "A member was assigned the partition before, and commits 100 since.": (
            NONE,
            {"assigned": 20},
        ),
        "A member that was assigned the partition commits 100; nobody knows what was first.": (
            NONE,
            {"assigned": 40, "is_reported": False},
        ),
    },
)
def commit_of_10_is_overtaken(
    h: History, *, deletes: bool = True, is_reported: bool = True, assigned: float | None = None
) -> None:
    h.topic(deletes=deletes)
    h.group()
    cluster(h)
    h.sent(0, 99, at=2)
    if is_reported:
        watched(h, 1, 100, times=(5, 25))
        watched(h, 1, 100, times=(32, 45, 85), start=50)
    h.polled(0, 9, at=6)
    h.commit(10, 0, at=8, brokers=(1, 2))
    if assigned is not None:
        joined(h, 10, at=assigned, member="2", generation=2)
        h.polled(50, 99, at=60, member="2")
        h.commit(100, 0, at=62, brokers=(1, 2), member="2", generation=2)
    copies(h, (1, 2), (50, 99, 0), start=50, high_watermark=100)


@asks_each(
    "Epoch 0 of a commit of 10 has left the cache of leader epochs;",
    source="LeaderEpochFileCache.truncateFromStartAsyncFlush: only a deletion removes an "
    "epoch that "
    "has records",
    check="committed_epoch_expired",
    cases={
        "its records were deleted, and nothing in the plan deletes.": (
            f"{VIOLATION}: at the end",
            {"start": 50},
        ),
        "it had no records, and nothing was deleted.": (NONE, {"start": 0}),
    },
)
def committed_epoch_leaves_the_cache(h: History, *, start: int) -> None:
    h.topic()
    h.group()
    cluster(h)
    watched(h, 1, 10, times=(5,))
    h.commit(10, 0, at=8, brokers=(1, 2))
    h.led(2, 1, at=20, isr=(1, 2), starts=start)
    h.sampled(2, at=45, end=100, start=start, epoch=1)
    copies(h, (1, 2), (start, 99, 1), start=start, high_watermark=100)


@asks(
    "A commit of 80 at 10 s, when the log ended at 60; at 40 s it grows to 100.",
    source="KIP-320: a position is one that a broker gave out; " + POSITION,
    expects={"commit_beyond_log": VIOLATION},
)
def log_reaches_the_commit_half_a_minute_later(h: History) -> None:
    h.topic()
    h.group()
    _grows(h, at=40.0)
    joined(h, 0, at=3.0)
    h.polled(0, 59, at=6.0)
    h.commit(80, 0, at=10.0, brokers=(1, 2), generation=1)
    h.polled(60, 99, at=42.0)
    h.commit(100, 0, at=44.0, brokers=(1, 2), generation=1)
    left(h, 100, at=80.0, caught_up=True)


@asks(
    "The last report before a commit of 100 has a high watermark of 60, the next one of 100.",
    source=POSITION + ": what a poll returned lay below the high watermark",
    expects={"commit_beyond_log": NONE, "commit_beyond_processed": NONE, "orphan_commit": NONE},
)
def report_of_the_end_is_older_than_the_commit(h: History) -> None:
    h.topic()
    h.group()
    _grows(h, at=5.5)
    joined(h, 0, at=3.0)
    h.polled(0, 59, at=5.2)
    h.polled(60, 99, at=6.0)
    h.commit(100, 0, at=6.2, brokers=(1, 2), generation=1)
    left(h, 100, at=80.0, caught_up=True)


@asks(
    "A topic is replaced; a member that had read 80 records of the old one commits 80 for the new "
    "one, which has 10.",
    source="KIP-516: a topic created again is another one; KIP-1319 on commits by name",
    expects={"commit_beyond_log": VIOLATION},
)
def commit_of_the_former_topic_is_stored_for_the_next(h: History) -> None:
    h.topic()
    h.group()
    begun(h)
    h.sent(0, 79, at=2.0)
    watched(h, 1, 80, times=(4.0, 10.0, 18.0))
    reads_to(h, 79)
    name = h.on_topic("t")
    h.fault("recreate", name, injected=20.0, proved=22.5, heal_began=22.6, healed=22.6)
    h.led(1, 0, at=22.0, isr=(1, 2), topic_id="id2", starts=0)
    h.sent(0, 9, at=25.0, sequence=100)
    watched(h, 1, 10, times=(27.0, 29.0, 31.0, 45.0, 65.0, 85.0))
    h.commit(80, 0, at=30.0, brokers=(1, 2), generation=1)
    left(h, 80, at=31.0)
    copies(h, (1, 2), (0, 9, 0), sequences={0: 100}, high_watermark=10, at=25.0)


def _grows(h: History, *, at: float) -> None:
    """0 to 59 are written at 2 s, 60 to 99 at `at`."""
    begun(h)
    h.sent(0, 59, at=2.0)
    h.sent(60, 99, at=at)
    times = (5.0, 9.8, 10.2, 15.0, 25.0, 35.0, 45.0, 55.0, 65.0, 75.0, 85.0)
    for time in times:
        h.sampled(1, at=time, end=60 if time < at else 100, isr=(1, 2))
    copies(h, (1, 2), (0, 59, 0), (60, 99, 0), high_watermark=100, at=2.0)
