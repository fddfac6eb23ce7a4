"""Members that poll and get nothing, or stop before the end of what they are to read."""

from collections.abc import Iterable
from typing import Any

from tests.exam.commit_verbs import COMMIT
from tests.exam.history import NONE, PERMITTED, VIOLATION, History, asks_each
from tests.exam.scenes import copies
from tests.exam.transaction_verbs import Batch, replicas, started, step
from tests.exam.verbs import WATCHED, cluster, first_start, joined, left, plain, watched

STUCK = "stuck_consumer"
READS = "KafkaConsumer.poll returns records below the high watermark; `request.timeout.ms`"
STABLE = "KIP-98: read_committed ends at the last stable offset"


@asks_each(
    "A member has read 50 of 100 records when the time for its read to the log end is over.",
    source=READS,
    check=STUCK,
    cases={
        "Nothing had happened.": (VIOLATION, {}),
        "A follower is suspended.": (PERMITTED, {"fault": "pause", "until": 88.0}),
        "A follower was suspended until 38 s ago.": (
            VIOLATION,
            {"fault": "pause", "until": 42.0},
        ),
        "A leader had been elected 20 s ago.": (
            PERMITTED,
            {"fault": "elect preferred", "at": 60.0},
        ),
        "A leader had been elected 40 s ago.": (
            VIOLATION,
            {"fault": "elect preferred", "at": 40.0},
        ),
        "It had its partition, when 40 s ago the group was rebalanced.": (
            VIOLATION,
            {"fault": "rebalance", "at": 40.0},
        ),
        "It has no partition, and 40 s ago the group was rebalanced.": (
            PERMITTED,
            {"fault": "rebalance", "at": 40.0, "topic": ""},
        ),
        "It has no partition, and 50 s ago the group was rebalanced.": (
            VIOLATION,
            {"fault": "rebalance", "at": 30.0, "topic": ""},
        ),
        "It was not, but its client raised an exception before.": (NONE, {"ended": "failed"}),
        "It was not, and it reached the log end.": (NONE, {"ended": "caught_up"}),
        "An administrator had set its position with an epoch that no leader had.": (
            PERMITTED,
            {"epoch": 7},
        ),
        "An administrator had set its position with the leader's epoch.": (
            VIOLATION,
            {"epoch": 0},
        ),
    },
)
def read_to_the_end_stalls(
    h: History,
    *,
    fault: str | None = None,
    at: float = 37.0,
    until: float | None = None,
    topic: str = "t",
    ended: str = "stalled",
    epoch: int | None = None,
) -> None:
    h.topic()
    h.group()
    plain(h, 99)
    if epoch is None:
        first_start(h, 0, at=4.8)
        joined(h, 0, at=5.0)
        h.polled(0, 49, at=6.0)
        h.commit(50, 0, at=8.0, brokers=(1, 2), generation=1)
    else:
        _set(h, 50, epoch, at=3.0)
        joined(h, 50, at=5.0)
    if fault is not None:
        on = h.on_broker(2) if until else _target(h, fault)
        healing = at if until is None else until
        h.fault(fault, on, injected=at, proved=at, heal_began=healing, healed=healing)
    if not topic:
        h.changed("revoked", at=at, position=50, generation=1)
    if ended == "caught_up":
        h.polled(50, 99, at=79.0)
    columns = {"exception": "KafkaException", "message": "x"} if ended == "failed" else {}
    reported = 100 if ended == "caught_up" else 50
    h.changed(ended, at=80.0, position=reported if topic else None, topic=topic, **columns)
    h.changed("closed", at=89.0)


@asks_each(
    "A member polls, commits every 5 s, and from second 12 on is delivered none of 50 new records.",
    source=READS,
    check=STUCK,
    cases={
        "For a minute.": (VIOLATION, {}),
        "For 20 s.": (NONE, {"until": 32.0}),
        "It is not known to poll.": (NONE, {"commits": ()}),
        "It has been paused.": (NONE, {"change": "paused"}),
        "It has been paused until 25 s ago.": (NONE, {"change": "paused", "resumed": 50.0}),
        "It had been paused until second 20.": (
            VIOLATION,
            {"change": "paused", "resumed": 20.0},
        ),
        "It has gone to the log end.": (NONE, {"change": "sought", "position": 100}),
        "The new records are above the high watermark, with acks=1.": (
            NONE,
            {"end": 50, "acks": "1"},
        ),
        # Expected at first: permitted. docs/facts.md, standstills: a fault's time is left out.
        "A follower is suspended all the time.": (NONE, {"is_suspended": True}),
        # Expected at first: undecided. Records count that are known to be below it.
        "No leader reported a high watermark, with acks=1.": (
            NONE,
            {"end": None, "acks": "1"},
        ),
        "No leader did, with acks=all.": (VIOLATION, {"end": None}),
    },
)
def member_reads_on_and_gets_nothing(
    h: History,
    *,
    until: float = 75.0,
    commits: Iterable[float] = range(15, 75, 5),
    change: str | None = None,
    resumed: float | None = None,
    position: int = 50,
    end: int | None = 100,
    acks: str = "all",
    is_suspended: bool = False,
) -> None:
    _grows(h, end=end, acks=acks)
    _reads_half(h)
    if change:
        h.changed(change, at=12.5, position=position, generation=1)
    for at in commits:
        if at == resumed:
            h.changed("resumed", at=at - 1, position=position, generation=1)
        if at < until:
            h.commit(position, 0, at=at, brokers=(1, 2), generation=1)
    if is_suspended:
        target = h.on_broker(2)
        h.fault("pause", target, injected=10.5, proved=10.8, heal_began=77.9, healed=78.0)
    if resumed or not change:
        h.polled(50, 99, at=until)
    h.changed("closed", at=80.2)


@asks_each(
    "Meanwhile",
    source=READS,
    check=STUCK,
    cases={
        # Expected at first: violation. It is known to poll only where nothing is delivered to it.
        "another partition is delivered to it.": (NONE, {}),
        "another partition is delivered to it, and it has given this one back.": (
            NONE,
            {"is_revoked": True},
        ),
        "no leader reported a high watermark, with acks=1, and another group gets the records.": (
            VIOLATION,
            {"end": None, "acks": "1", "is_other_group": True},
        ),
    },
)
def others_get_what_a_member_does_not(
    h: History,
    *,
    is_revoked: bool = False,
    end: int | None = 100,
    acks: str = "all",
    is_other_group: bool = False,
) -> None:
    _grows(h, end=end, acks=acks)
    _reads_half(h, partitions=(0, 1))
    if is_other_group:
        h.group("r")
        first_start(h, 0, at=11.0, group="r")
        joined(h, 0, at=12.0, group="r")
        h.polled(0, 99, at=12.5, group="r")
    if is_revoked:
        h.changed("revoked", at=12.6, position=50, generation=1)
    for at in range(15, 75, 5):
        if not is_other_group:
            h.polled(at - 15, at - 11, at=at, partition=1, producer="p1")
        partition = 1 if is_revoked else 0
        offset = at - 10 if is_revoked else 50
        h.commit(offset, 0, at=at + 0.5, brokers=(1, 2), generation=1, partition=partition)
    if not is_revoked:
        h.polled(50, 99, at=76.0)
    h.changed("closed", at=80.2)


@asks_each(
    "A member of a read_committed group polls and commits for a minute, and gets nothing at 50.",
    source=STABLE,
    check=STUCK,
    cases={
        "There is an aborted transaction, and nothing else.": (NONE, {"control": "abort"}),
        "There is a committed transaction.": (VIOLATION, {"control": "commit"}),
        # Expected at first: permitted. Its records were not to be delivered.
        "There is a transaction that is open all the time.": (NONE, {"ends": 75.0}),
        "There are other records before an open transaction.": (
            VIOLATION,
            {"ends": 75.0, "before": 10},
        ),
    },
)
def committed_reader_gets_nothing(
    h: History, *, control: str = "commit", ends: float = 9.0, before: int = 0
) -> None:
    h.topic()
    h.group(isolation="read_committed")
    cluster(h)
    first = 50 + before
    batches = [Batch(0, 49)]
    h.sent(0, 49, at=2.0)
    watched(h, 1, 50, times=(2.5, 5.5))
    first_start(h, 0, at=4.8)
    joined(h, 0, at=5.0)
    h.polled(0, 49, at=6.0)
    started(h, at=6.5, producer="x")
    if before:
        h.sent(50, first - 1, at=7.0)
        batches.append(Batch(50, first - 1, at=7.0))
    h.sent(first, first + 4, at=8.0, producer="x", sequence=0, transaction=0)
    batches.append(
        Batch(first, first + 4, pid=1, base_sequence=0, producer="x", sequence=0, at=8.0)
    )
    ended = "committed" if control == "commit" else "aborted"
    if ends < 10:
        step(h, control, ended, at=ends, producer="x")
    for at in range(10, 75, 5):
        h.commit(50, 0, at=float(at), brokers=(1, 2), generation=1)
    if ends > 10:
        step(h, control, ended, at=ends, producer="x")
    batches.append(Batch(first + 5, first + 5, pid=1, control=control, at=ends + 0.1))
    if before:
        h.polled(50, first - 1, at=76.0)
    if control == "commit":
        h.polled(first, first + 4, at=76.1, producer="x", sequence=0)
    watched(h, 1, first + (5 if ends > 10 else 6), times=[at for at in WATCHED if 10 < at < 75])
    watched(h, 1, first + 6, times=(78.0, 85.0))
    left(h, first + 6, at=80.0)
    replicas(h, *batches)


def _grows(h: History, *, end: int | None, acks: str) -> None:
    """Two partitions; records 50 to 99 are sent to one at second 12, its leader reports `end`."""
    h.topic(partitions=2)
    h.group()
    cluster(h)
    plain(h, 99, partition=1)
    h.sent(0, 49, at=2.0)
    h.sent(50, 99, at=12.0, acks=acks)
    if end is not None:
        watched(h, 1, 50, times=(1.5, 8.0))
        watched(h, 1, end, times=[at for at in WATCHED if 12 < at < 76])
        watched(h, 1, 100, times=(85.0,))
    copies(h, (1, 2), (0, 49, 0), (50, 99, 0), high_watermark=100, at=2.0)


def _reads_half(h: History, *, partitions: tuple[int, ...] = (0,)) -> None:
    """A member reads 0 to 49."""
    first_start(h, 0, at=4.8)
    joined(h, 0, at=5.0, partitions=partitions)
    h.polled(0, 49, at=6.0)
    h.commit(50, 0, at=10.0, brokers=(1, 2), generation=1)


def _target(h: History, fault: str) -> Any:
    return h.on_group("g") if fault == "rebalance" else h.on_partition("t", 0)


def _set(h: History, offset: int, epoch: int, *, at: float) -> None:
    """An administrator commits an offset with an epoch, as no member of the group."""
    asked = {"asked_offset": offset, "asked_epoch": epoch, "metadata": "set"}
    nobody = {"group": h.own("g"), "member": "", "generation": -1}
    h.called(1, COMMIT, 8, at=at, throttle_ms=0, **nobody, **asked)
    h.stored(offset, epoch, at=at - 0.002, brokers=(1, 2))
    h.rows["committed_offsets"][-1].update(metadata="set", value_version=3)
