"""Cycles: in which order transactions stand, and what they take in of each other."""

from msgspec.structs import replace

from contract.run_folder import MemberPlan
from tests.exam.history import NONE, NOT_VIOLATION, PERMITTED, VIOLATION, History, asks, asks_each
from tests.exam.transaction_verbs import Batch, replicas, started, step, stored_in_transaction
from tests.exam.verbs import cluster, joined, watched

COMMITTED = "isolation.level=read_committed: only transactions that were committed are given out"
ORDER = "KIP-98: transactions of several producers interleave in a log; Adya's G0"


@asks(
    "Two committed transactions stand in one order on a partition and in the other on the next.",
    # Kafka orders records, not transactions: the documents promise nothing against it.
    source=ORDER,
    expects={
        "write_cycle": f"{PERMITTED}: in two partitions",
        "torn_transaction": NONE,
        "misapplied_marker": NONE,
        "circular_information": NOT_VIOLATION,
    },
)
def transactions_in_two_orders(h: History) -> None:
    _two_transactions(h, second_first="b")


@asks(
    "Two committed transactions stand in one order on both partitions.",
    source=ORDER,
    expects={"write_cycle": NONE, "torn_transaction": NONE, "circular_information": NONE},
)
def transactions_in_one_order(h: History) -> None:
    _two_transactions(h, second_first="a")


@asks(
    "Two transactions stand in two orders, and one of them is aborted.",
    source="Adya: only committed transactions make a cycle; KIP-98",
    expects={"write_cycle": NOT_VIOLATION, "aborted_read": NONE, "torn_transaction": NONE},
)
def aborted_transaction_in_two_orders(h: History) -> None:
    _two_transactions(h, second_first="b", end_of_b="abort")


@asks(
    "Two read_committed pipelines each take in what the other's open transaction wrote.",
    source=COMMITTED + "; Adya's G1c",
    expects={
        "circular_information": f"{VIOLATION}: read each other",
        "precommitted_read": VIOLATION,
    },
)
def each_reads_the_other(h: History) -> None:
    _circle(h, "read_committed")


@asks(
    "Two read_uncommitted pipelines each take in what the other's open transaction wrote.",
    source="isolation.level=read_uncommitted gives out records at once; Adya's G1c",
    expects={"circular_information": NOT_VIOLATION, "precommitted_read": NOT_VIOLATION},
)
def each_reads_the_other_uncommitted(h: History) -> None:
    _circle(h, "read_uncommitted")


@asks(
    "Two pipelines do, and each has a member of Java, which may read uncommitted values.",
    source="isolation.level: read_committed is librdkafka's default, read_uncommitted Java's",
    expects={"circular_information": f"{PERMITTED}: read each other"},
)
def members_of_two_isolations_read_each_other(h: History) -> None:
    _circle(h, None)


@asks(
    "A pipeline's next transaction takes in what came of its first one, which was over by then.",
    source="Adya's G1c: transactions depend on each other, not producers",
    expects={"circular_information": NONE, "precommitted_read": NONE, "write_cycle": NONE},
)
def next_transaction_reads_back(h: History) -> None:
    h.topic("t")
    h.topic("u")
    for topic, end in (("t", 4), ("u", 2)):
        cluster(h, topic=topic)
        watched(h, 1, end, times=(35.0, 45.0, 55.0, 65.0, 75.0, 85.0), topic=topic)
    h.group("ga", "u", isolation="read_committed")
    h.group("gb", "t", isolation="read_committed")
    a0, b0 = {"pid": 1, "producer": "a"}, {"pid": 2, "producer": "b", "transactional_id": "y"}
    started(h, at=5.0, **a0)
    joined(h, 0, at=7.0, group="ga", topic="u")
    joined(h, 0, at=7.8, group="gb")
    h.sent(0, at=9.0, producer="a", transaction=0)
    step(h, "commit", "committed", at=10.0, **a0)
    started(h, at=11.0, **b0)
    h.polled(0, at=12.0, group="gb", producer="a")
    h.sent(0, at=13.0, producer="b", topic="u", transaction=0)
    stored_in_transaction(h, 1, 0, at=14.0, marker="commit", pid=2, group="gb")
    step(h, "send_offsets", "offsets_sent", at=14.1, **b0)
    step(h, "commit", "committed", at=15.0, **b0)
    step(h, "begin", "begun", at=16.0, transaction=1, **a0)
    h.polled(0, at=17.0, group="ga", topic="u", producer="b")
    h.sent(2, at=18.0, producer="a", sequence=1, transaction=1)
    stored_in_transaction(h, 1, 0, at=19.0, marker="commit", group="ga", topic="u")
    step(h, "send_offsets", "offsets_sent", at=19.1, transaction=1, **a0)
    step(h, "commit", "committed", at=20.0, transaction=1, **a0)
    replicas(
        h,
        Batch(0, 0, pid=1, base_sequence=0, producer="a"),
        Batch(1, 1, pid=1, control="commit"),
        Batch(2, 2, pid=1, base_sequence=1, producer="a", sequence=1),
        Batch(3, 3, pid=1, control="commit"),
    )
    one = Batch(0, 0, pid=2, base_sequence=0, producer="b")
    replicas(h, one, Batch(1, 1, pid=2, control="commit"), topic="u")


def _two_transactions(h: History, *, second_first: str, end_of_b: str = "commit") -> None:
    """On partition 0 `a` writes before `b`; on partition 1 the one that is named comes first."""
    h.topic(partitions=2)
    h.group(isolation="read_committed")
    pids = {"a": 1, "b": 2}
    ends = {"a": "commit", "b": end_of_b}
    reported = {
        "a": {"pid": 1, "producer": "a", "transactional_id": "x"},
        "b": {"pid": 2, "producer": "b", "transactional_id": "y"},
    }
    started(h, at=4.0, **reported["a"])
    started(h, at=5.0, **reported["b"])
    orders = ("ab", "ba" if second_first == "b" else "ab")
    for partition, order in enumerate(orders):
        cluster(h, partition=partition)
        watched(h, 1, 4, times=(15.0, 45.0, 65.0, 85.0), partition=partition)
        for offset, producer in enumerate(order):
            h.sent(
                offset,
                at=8.0 + offset + partition / 2,
                producer=producer,
                sequence=partition,
                partition=partition,
                transaction=0,
            )
        batches = [
            Batch(offset, offset, pid=pids[who], base_sequence=0, producer=who, sequence=partition)
            for offset, who in enumerate(order)
        ]
        ended = [
            Batch(2 + n, 2 + n, pid=pids[who], control=ends[who]) for n, who in enumerate("ab")
        ]
        replicas(h, *batches, *ended, partition=partition)
    step(h, "commit", "committed", at=12.0, **reported["a"])
    step(h, end_of_b, "committed" if end_of_b == "commit" else "aborted", at=13.0, **reported["b"])
    joined(h, 0, at=40.0, partitions=(0, 1))
    for partition, order in enumerate(orders):
        for offset, producer in enumerate(order):
            if ends[producer] == "commit":
                h.polled(
                    offset,
                    at=41.0 + partition,
                    producer=producer,
                    sequence=partition,
                    partition=partition,
                )


def _circle(h: History, isolation: str | None) -> None:
    """`a` writes to t and takes in u, `b` writes to u and takes in t, both still open.

    Without an isolation, their groups have members of librdkafka and of Java.
    """
    h.topic("t")
    h.topic("u")
    for topic, pid, producer in (("t", 1, "a"), ("u", 2, "b")):
        cluster(h, topic=topic)
        watched(h, 1, 1, times=(11.0,), topic=topic)
        watched(h, 1, 2, times=(25.0, 45.0, 65.0, 85.0), topic=topic)
        data = Batch(0, 0, pid=pid, base_sequence=0, producer=producer)
        replicas(h, data, Batch(1, 1, pid=pid, control="commit"), topic=topic)
    h.group("ga", "u", isolation=isolation or "read_committed")
    h.group("gb", "t", isolation=isolation or "read_committed")
    if isolation is None:
        others = {2: MemberPlan(client="java")}
        h.groups[-2:] = [
            replace(one, client="librdkafka", isolation=None, members=2, others=others)
            for one in h.groups[-2:]
        ]
    a, b = {"pid": 1, "producer": "a"}, {"pid": 2, "producer": "b", "transactional_id": "y"}
    started(h, at=5.0, **a)
    started(h, at=6.0, **b)
    joined(h, 0, at=8.0, group="ga", topic="u")
    joined(h, 0, at=9.0, group="gb")
    h.sent(0, at=10.0, producer="a", transaction=0)
    h.sent(0, at=10.1, producer="b", topic="u", transaction=0)
    h.polled(0, at=12.0, group="gb", producer="a")
    h.polled(0, at=12.1, group="ga", topic="u", producer="b")
    stored_in_transaction(h, 1, 0, at=14.0, marker="commit", group="ga", topic="u")
    step(h, "send_offsets", "offsets_sent", at=14.1, **a)
    stored_in_transaction(h, 1, 0, at=15.0, marker="commit", pid=2, group="gb")
    step(h, "send_offsets", "offsets_sent", at=15.1, **b)
    step(h, "commit", "committed", at=18.0, **a)
    step(h, "commit", "committed", at=19.0, **b)


@asks_each(
    "Transactions of `a` and `b` write to one partition or two, and store offsets of what "
    "they read.",
    source=ORDER + "; Adya's G1c",
    check="circular_information",
    cases={
        "`b` stores what it wrote itself.": (
            f"{PERMITTED}: read itself",
            {"read": "u", "isolation": "read_uncommitted"},
        ),
        "`b`, which reads committed values, stores what it wrote itself.": (
            f"{VIOLATION}: read itself",
            {"read": "u"},
        ),
        "`b` stores what it read of `a`, and wrote before it elsewhere.": (
            f"{PERMITTED}: read, then written before",
            {"again": True},
        ),
        "`b` stores what it read of `a`.": (NONE, {}),
    },
)
def copy_of_what_was_written(
    h: History, *, read: str = "t", again: bool = False, isolation: str = "read_committed"
) -> None:
    a, b = {"pid": 1, "producer": "a"}, {"pid": 2, "producer": "b", "transactional_id": "y"}
    h.topic("t")
    h.topic("u")
    h.group("g", read, isolation=isolation)
    cluster(h, topic="t")
    cluster(h, topic="u")
    started(h, at=2, **a)
    h.sent(0, at=5, producer="a", transaction=0)
    if again:
        h.sent(1, at=5.5, producer="a", sequence=1, topic="u", transaction=0)
    step(h, "commit", "committed", at=8, **a)
    started(h, at=10, **b)
    joined(h, 0, at=11, topic=read)
    h.polled(0, at=12, producer="a" if read == "t" else "b", topic=read)
    h.sent(0, at=13, producer="b", topic="u", transaction=0)
    stored_in_transaction(h, 1, 0, at=14, marker="commit", pid=2, topic=read)
    step(h, "send_offsets", "offsets_sent", at=14.1, **b)
    step(h, "commit", "committed", at=15, **b)
    ended = (Batch(0, 0, pid=1, producer="a"), Batch(1, 1, pid=1, control="commit"))
    replicas(h, *ended)
    copied = [Batch(0, 0, pid=2, producer="b")]
    copied += [Batch(1, 1, pid=1, producer="a", sequence=1)] if again else []
    replicas(h, *copied, Batch(2, 2, pid=2, control="commit"), topic="u")


@asks(
    "Two committed transactions write to one partition by turns.",
    source=ORDER,
    expects={"write_cycle": f"{PERMITTED}: in one partition"},
)
def transactions_by_turns_in_one_partition(h: History) -> None:
    h.topic()
    h.group(isolation="read_committed")
    cluster(h)
    for pid, producer, name in ((1, "a", "x"), (2, "b", "y")):
        reported = {"pid": pid, "producer": producer, "transactional_id": name}
        started(h, at=2 + pid, **reported)
        step(h, "commit", "committed", at=20 + pid, **reported)
    for offset, producer in enumerate("aba"):
        h.sent(offset, at=8.0 + offset, producer=producer, sequence=offset, transaction=0)
    data = [
        Batch(offset, offset, pid=1 + (producer == "b"), producer=producer)
        for offset, producer in enumerate("aba")
    ]
    replicas(h, *data, Batch(3, 3, pid=1, control="commit"), Batch(4, 4, pid=2, control="commit"))
