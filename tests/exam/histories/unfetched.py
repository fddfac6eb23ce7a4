"""Partitions that a member owns and of which it is delivered nothing, while it polls on."""

from typing import Any

from tests.exam.history import NONE, VIOLATION, History, asks, asks_each
from tests.exam.scenes import copies
from tests.exam.transaction_verbs import Batch, replicas, started, step
from tests.exam.verbs import WATCHED, cluster, joined, left, plain, watched

FETCHES = (
    "KafkaConsumer: poll fetches records of all partitions that are assigned; request.timeout.ms is"
    " 30 s; an old leader responds with NOT_LEADER_OR_FOLLOWER (KIP-320)"
)
STRANDED = "librdkafka#5586: NOT_COORDINATOR to an OffsetFetch; " + FETCHES
FOUND = {"stuck_consumer": f"{VIOLATION}: never fetched"}


def _reads_one_of_two(
    h: History,
    *,
    read: int = 0,
    position: int | None = 0,
    until: int = 60,
    isolation: str = "read_uncommitted",
    **columns: Any,
) -> None:
    """A member owns two partitions with 100 records; of partition 1 it is given `read` of them.

    It commits each second from 8 to `until`, and is given nothing more.
    """
    h.topic(partitions=2)
    h.group(isolation=isolation)
    plain(h, 99)
    plain(h, 99, partition=1)
    joined(h, 0, at=5.0)
    h.changed("assigned", at=5.0, position=position, partition=1, generation=1)
    h.polled(0, 99, at=6.0)
    if read:
        h.polled(0, read - 1, at=6.5, partition=1, producer="p1")
    _commits(h, 8, until, **columns)


def _commits(h: History, first: int, last: int, **columns: Any) -> None:
    for second in range(first, last + 1):
        h.commit(100, 0, at=float(second), brokers=(1, 2), generation=1, **columns)


@asks_each(
    "A member polls for 50 s; of one of its partitions it is given",
    source=FETCHES,
    check="stuck_consumer",
    cases={
        "nothing.": (
            f"{VIOLATION}: never fetched: for 51.0 s and was delivered nothing of the partition",
            {},
        ),
        "half of what is there.": (
            f"{VIOLATION}: no longer fetched: records lay at its position 50 or above",
            {"read": 50},
        ),
        "all.": (NONE, {"read": 100}),
        "nothing, and it commits for 20 s only.": (NONE, {"until": 28}),
    },
)
def partition_is_not_fetched(h: History, **given: Any) -> None:
    _reads_one_of_two(h, **given)


@asks(
    "A client raises at its start, and has no position on a partition where its group had committed"
    " 50.",
    source=STRANDED,
    expects={
        "stuck_consumer": f"{VIOLATION}: never fetched: position 50 or above; its client had raised"
        " KafkaException: NOT_COORDINATOR"
    },
)
def partition_is_stranded(h: History) -> None:
    h.stored(50, 0, at=1.0, partition=1, brokers=(1, 2))
    _reads_one_of_two(h, position=None)
    h.changed(
        "failed", at=5.5, topic="", partition=-1, exception="KafkaException",
        message="NOT_COORDINATOR",
    )  # fmt: skip


@asks(
    "A member has no position on a partition, and its group no commit.",
    source=FETCHES + "; auto.offset.reset=latest begins at the end",
    expects={"stuck_consumer": NONE},
)
def position_is_not_known(h: History) -> None:
    _reads_one_of_two(h, position=None)


@asks(
    "A group rebalances, and a member is given nothing of what it keeps.",
    source="KIP-429: a member goes on with what it keeps; " + FETCHES,
    expects=FOUND,
)
def partition_that_is_kept_is_not_fetched(h: History) -> None:
    _reads_one_of_two(h)
    h.fault("rebalance", h.on_group("g"), injected=9.0, proved=10.0)
    h.changed("assigned", at=10.0, position=0, partition=1, generation=2)


@asks_each(
    "A member is given nothing of a partition for 50 s. In the middle of it,",
    source=FETCHES,
    check="stuck_consumer",
    cases={
        "it pauses the partition.": (NONE, {"change": "paused"}),
        "it resumes it, which it had not paused.": (NONE, {"change": "resumed"}),
        "the partition is revoked.": (NONE, {"change": "revoked"}),
        "its application seeks.": (NONE, {"change": "sought"}),
        "it reports that it has caught up.": (NONE, {"change": "caught_up"}),
        "it is assigned it again, which it keeps.": (FOUND, {"change": "assigned"}),
        "another of its partitions is revoked.": (
            FOUND,
            {"change": "revoked", "partition": 0},
        ),
    },
)
def something_happens_meanwhile(h: History, *, change: str, partition: int = 1) -> None:
    _reads_one_of_two(h)
    h.changed(change, at=34.5, position=0, partition=partition, generation=1)


@asks(
    "The client resets its position in the middle of it.",
    source=FETCHES,
    expects={"stuck_consumer": NONE},
)
def position_is_reset_meanwhile(h: History) -> None:
    _reads_one_of_two(h)
    h.reset("out_of_range", 0, 10, at=34.5, partition=1, member="1")


@asks_each(
    "A member commits after each delivery of another partition, each three seconds, and no more:",
    source="max.poll.records: an application that takes its time is given other records first",
    check="stuck_consumer",
    cases={
        "that partition.": (NONE, {"partitions": (0,)}),
        "both partitions, of which the client reports each.": (NONE, {"partitions": (0, 1)}),
    },
)
def application_is_slow(h: History, *, partitions: tuple[int, ...]) -> None:
    h.topic(partitions=2)
    h.group()
    plain(h, 99)
    plain(h, 99, partition=1)
    joined(h, 0, at=5.0, partitions=(0, 1))
    for number in range(20):
        h.polled(5 * number, 5 * number + 4, at=6.0 + 3 * number)
        for partition in partitions:
            offset = 0 if partition else 5 * number + 5
            h.commit(offset, 0, at=8.5 + 3 * number, partition=partition, generation=1)
            row = h.rows["commits"][-1]
            row["committed_micros"] = row["began_micros"] + 1000 + partition


@asks(
    "A member of two partitions does not poll for 50 s; it commits at the beginning and the end.",
    source="KafkaConsumer: records are fetched when the application polls",
    expects={"stuck_consumer": NONE},
)
def member_does_not_poll(h: History) -> None:
    _reads_one_of_two(h, until=9)
    _commits(h, 59, 60)


@asks_each(
    "Records come to the partition",
    source=FETCHES,
    check="stuck_consumer",
    cases={
        "20 s after the member began to poll, and it polls for 30 s more.": (
            FOUND,
            {"written": 25.0},
        ),
        "when it polls for 15 s more.": (NONE, {"written": 45.0}),
        "but stay above the high watermark.": (NONE, {"written": 25.0, "end": 0}),
    },
)
def records_come_late(h: History, *, written: float, end: int = 100) -> None:
    h.topic(partitions=2)
    h.group()
    plain(h, 99)
    cluster(h, partition=1)
    watched(h, 1, 0, times=[one for one in WATCHED if one < written], partition=1)
    h.sent(0, 99, at=written, partition=1, producer="p1", acks="1")
    watched(h, 1, end, times=(written + 1, written + 30.0), partition=1)
    copies(h, (1, 2), (0, 99, 0), partition=1, producers={0: "p1"}, high_watermark=end)
    joined(h, 0, at=5.0, partitions=(0, 1))
    h.polled(0, 99, at=6.0)
    _commits(h, 8, 60)


@asks_each(
    "A fault is in force while a member is given nothing of a partition for 50 s:",
    source="decision 8: no service is expected while a fault holds",
    check="stuck_consumer",
    cases={
        "it holds all the time.": (NONE, {"healed": None}),
        "it is healed in the middle.": (NONE, {"healed": 35.0}),
        "it is healed 10 s after the beginning.": (FOUND, {"healed": 18.0}),
        "an election comes at the beginning.": (FOUND, {"fault": "elect preferred"}),
        "an election comes in the middle.": (
            NONE,
            {"fault": "elect preferred", "injected": 34.0},
        ),
    },
)
def fault_is_in_force(
    h: History, *, fault: str = "cut", injected: float = 7.0, healed: float | None = None
) -> None:
    _reads_one_of_two(h)
    target = h.on_broker(2) if fault == "cut" else h.on_partition("t", 1)
    h.fault(fault, target, injected=injected, healed=healed)


@asks(
    "The administrator set the position with an epoch that no leader had.",
    source="KIP-320: a client waits for metadata with the epoch of its position",
    expects={"stuck_consumer": NONE},
)
def position_has_an_epoch_of_an_administrator(h: History) -> None:
    _reads_one_of_two(h)
    h.called(
        1, "OFFSET_COMMIT", 8, at=2.0, partition=1, group=h.own("g"), member="", generation=-1,
        asked_offset=0, asked_epoch=7, metadata="", throttle_ms=0,
    )  # fmt: skip
    h.stored(0, 7, at=1.998, partition=1, brokers=(1, 2))


def _in_transaction(h: History, control: str | None) -> None:
    """Offsets 50 to 59 are of a transaction; a member is given 0 to 49, and commits on and on."""
    h.topic()
    h.group(isolation="read_committed")
    cluster(h)
    h.sent(0, 49, at=2.0)
    started(h, at=3.0, producer="q")
    h.sent(50, 59, at=4.0, producer="q", sequence=0, transaction=0)
    batches = [Batch(0, 49), Batch(50, 59, pid=1, base_sequence=0, producer="q", sequence=0)]
    if control:
        step(h, control, "committed", at=5.0, producer="q")
        batches.append(Batch(60, 60, pid=1, control=control))
    watched(h, 1, batches[-1].last + 1)
    replicas(h, *batches)
    joined(h, 0, at=5.0)
    h.polled(0, 49, at=6.0)
    _commits(h, 8, 60)


@asks(
    "A read_committed member is given nothing from a transaction on that is open.",
    source="KIP-98: read_committed ends at the last stable offset",
    expects={"stuck_consumer": NONE},
)
def transaction_is_open(h: History) -> None:
    _in_transaction(h, None)


@asks(
    "A read_committed member is given nothing of a transaction that was committed before.",
    source="KIP-98: read_committed returns what was committed; " + FETCHES,
    expects={"stuck_consumer": f"{VIOLATION}: no longer fetched"},
)
def transaction_was_committed(h: History) -> None:
    _in_transaction(h, "commit")


@asks(
    "A rebalance assigns a paused partition again; the member then gets nothing for 42 s.",
    source="KafkaConsumer.pause: a rebalance does not keep the pause",
    expects={"fetch_unavailable": VIOLATION},
)
def rebalance_ends_a_pause_and_nothing_comes(h: History) -> None:
    h.topic()
    h.group()
    plain(h, 49)
    _grow(h)
    joined(h, 0, at=5.0, generation=1)
    h.polled(0, 49, at=10.0)
    h.commit(50, 0, at=10.5, brokers=(1, 2), generation=1)
    h.changed("paused", at=11.0, position=50, generation=1)
    h.changed("assigned", at=15.0, position=50, generation=2)
    h.polled(50, 99, at=57.0)
    left(h, 100, at=80.0, generation=2, caught_up=True)


def _grow(h: History) -> None:
    """Records 50 to 99 are sent at second 12."""
    h.sent(50, 99, at=12.0)
    h.rows["log_starts"], h.rows["epoch_checkpoints"] = [], []
    h.rows["replica_records"], h.rows["replica_batches"] = [], []
    copies(h, (1, 2), (0, 49, 0), (50, 99, 0), high_watermark=100, at=2.0)
    for row in h.rows["samples"]:
        if row["at_micros"] > h.at(12.0):
            row["log_end_offset"] = 100
    watched(h, 1, 100, times=(13.0,))
