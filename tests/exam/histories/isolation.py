"""Isolation: what a reader may see of a transaction, and in which order transactions stand."""

from tests.exam.history import NONE, NOT_VIOLATION, VIOLATION, History, asks
from tests.exam.transaction_verbs import Batch, first_transaction, replicas, started, step, written
from tests.exam.verbs import begins_anew, cluster, joined, left, renumbered, watched

COMMITTED = "isolation.level=read_committed: only transactions that were committed are given out"
ATOMIC = "KIP-98: a transaction is atomic over its partitions"
ISOLATION = "isolation.level: read_committed leaves aborted records out, read_uncommitted does not"
ABORTED = "KIP-98: read_committed returns no records of aborted transactions"


@asks(
    "A read_committed group is given the records of a transaction that was aborted.",
    source=COMMITTED,
    expects={
        "aborted_read": VIOLATION,
        "torn_transaction": NONE,
        "precommitted_read": NOT_VIOLATION,
    },
)
def aborted_records_are_given_out(h: History) -> None:
    _aborted(h)
    joined(h, 0, at=40.0)
    h.polled(0, 4, at=41.0)
    left(h, 6, at=80.0, caught_up=True)


@asks(
    "A read_uncommitted group is given the records of a transaction that was aborted.",
    source="isolation.level=read_uncommitted gives out aborted records too",
    expects={"aborted_read": NOT_VIOLATION, "torn_transaction": NONE, "phantom_record": NONE},
)
def aborted_records_in_a_read_uncommitted_group(h: History) -> None:
    _aborted(h, isolation="read_uncommitted")
    joined(h, 0, at=40.0)
    h.polled(0, 4, at=41.0)
    left(h, 6, at=80.0, caught_up=True)


@asks(
    "A commit is carried out and its answer lost; a successor is initialised, the retry is fenced.",
    source="KIP-98: the marker tells what became of a transaction",
    expects={
        "aborted_read": NONE,
        "torn_transaction": NONE,
        "zombie_producer_accepted": NONE,
        "misapplied_marker": NONE,
        "precommitted_read": NONE,
    },
)
def lost_answer_of_a_commit(h: History) -> None:
    written(h, Batch(0, 4, pid=1, base_sequence=0), Batch(5, 5, pid=1, control="commit"))
    _fenced_commit(h)
    joined(h, 0, at=40.0)
    h.polled(0, 4, at=41.0)
    left(h, 6, at=80.0, caught_up=True)


@asks(
    "A commit was fenced at its retry, its records were read, and retention has removed its "
    "marker from the log.",
    source="KIP-98: the marker tells what became of a transaction; contract/outcomes.py: "
    "without it the outcome is unknown",
    expects={"aborted_read": NOT_VIOLATION, "torn_transaction": NOT_VIOLATION},
)
def lost_answer_without_a_marker_left(h: History) -> None:
    h.topic(retention_ms=20_000)
    h.group(isolation="read_committed")
    cluster(h)
    h.sampled(1, at=1.0, end=0, isr=(1, 2))
    watched(h, 1, 6, times=(35.0, 45.0))
    _fenced_commit(h)
    joined(h, 0, at=40.0)
    h.polled(0, 4, at=41.0)
    left(h, 6, at=45.0, caught_up=True)
    for broker in (1, 2):
        h.log_started(broker, 6, at=60.0)
        h.log(broker, start=6, end=6, high_watermark=6, checkpoints={0: 6})
    watched(h, 1, 6, times=(65.0, 75.0), start=6)


@asks(
    "A commit was fenced at its retry, the log has an abort marker, and a read_committed group "
    "was given its records.",
    source="KIP-98: the marker tells what became of a transaction; " + COMMITTED,
    expects={"aborted_read": VIOLATION},
)
def fenced_commit_that_the_marker_aborts(h: History) -> None:
    written(
        h,
        Batch(0, 4, pid=1, base_sequence=0),
        Batch(5, 5, pid=1, pid_epoch=1, control="abort"),
    )
    _fenced_commit(h)
    joined(h, 0, at=40.0)
    h.polled(0, 4, at=41.0)
    left(h, 6, at=80.0, caught_up=True)


@asks(
    "A read_committed group is given a record 8 s before its producer asks for the commit.",
    source=COMMITTED,
    expects={"precommitted_read": VIOLATION, "aborted_read": NONE, "torn_transaction": NONE},
)
def read_before_the_commit(h: History) -> None:
    _read_at(h, 12.0)


@asks(
    "A read_committed group is given a record after the commit was asked for, before its answer.",
    source="KIP-98: markers may be written before the answer arrives",
    expects={"precommitted_read": NONE, "aborted_read": NONE, "torn_transaction": NONE},
)
def read_while_the_commit_goes_on(h: History) -> None:
    _read_at(h, 22.0)


@asks(
    "A read_uncommitted group is given a record 8 s before its producer asks for the commit.",
    source="isolation.level=read_uncommitted gives out records at once",
    expects={"precommitted_read": NOT_VIOLATION, "aborted_read": NONE},
)
def uncommitted_read_before_the_commit(h: History) -> None:
    _read_at(h, 12.0, isolation="read_uncommitted")


@asks(
    "A transaction is committed; one partition has a commit marker, the other an abort marker.",
    source=ATOMIC,
    expects={"torn_transaction": VIOLATION, "aborted_read": NONE, "hanging_transaction": NONE},
)
def half_of_a_transaction_is_visible(h: History) -> None:
    _over_two_partitions(h, "abort")
    joined(h, 0, at=40.0, partitions=(0, 1))
    h.polled(0, 4, at=41.0)
    h.changed("caught_up", at=60.0, position=6)
    h.changed("caught_up", at=60.1, position=6, partition=1)


@asks(
    "A group stops after it has read one partition of a committed transaction, before the other.",
    source=ATOMIC + " in the log; a reader gets partitions one by one",
    expects={"torn_transaction": NOT_VIOLATION, "aborted_read": NONE, "skipped_record": NONE},
)
def reader_stops_in_a_transaction(h: History) -> None:
    _over_two_partitions(h, "commit")
    joined(h, 0, at=40.0, partitions=(0, 1))
    h.polled(0, 4, at=41.0)
    h.changed("revoked", at=42.0, position=6, generation=1)
    h.changed("revoked", at=42.1, position=0, partition=1, generation=1)
    h.changed("closed", at=42.5)


@asks(
    "Two members of a group are given a partition each of one committed transaction.",
    source=ATOMIC + " in the log; the group as a whole reads it",
    expects={"torn_transaction": NONE, "double_ownership": NONE, "skipped_record": NONE},
)
def members_share_a_transaction(h: History) -> None:
    _over_two_partitions(h, "commit")
    joined(h, 0, at=40.0)
    joined(h, 0, at=41.0, member="2", partitions=(1,))
    h.polled(0, 4, at=42.0)
    h.polled(0, 4, at=43.0, partition=1, sequence=5, member="2")
    h.changed("caught_up", at=60.0, position=6)
    h.changed("caught_up", at=60.1, position=6, partition=1, member="2")


def _aborted(h: History, isolation: str = "read_committed") -> None:
    written(
        h,
        Batch(0, 4, pid=1, base_sequence=0),
        Batch(5, 5, pid=1, control="abort"),
        isolation=isolation,
    )
    started(h, at=5.0)
    h.sent(0, 4, at=8.0, transaction=0)
    step(h, "abort", "aborted", at=10.0)


def _fenced_commit(h: History) -> None:
    """The commit is asked for at 10; at 15 a successor is made; the retry is fenced at 20."""
    started(h, at=5.0)
    h.sent(0, 4, at=8.0, transaction=0)
    step(h, "initialize", "initialized", at=15.0, transaction=None, producer="p2", pid_epoch=1)
    error = "ProducerFencedException"
    step(h, "commit", "fenced", at=20.0, took=10.0, outcome="failed", error=error)


def _read_at(h: History, second: float, isolation: str = "read_committed") -> None:
    """Records are sent at 8; the commit is asked for at 20 and answered at 25."""
    written(
        h,
        Batch(0, 4, pid=1, base_sequence=0),
        Batch(5, 5, pid=1, control="commit"),
        isolation=isolation,
    )
    watched(h, 1, 5, times=(9.0, 15.0, 19.0))
    started(h, at=5.0)
    joined(h, 0, at=7.0)
    h.sent(0, 4, at=8.0, transaction=0)
    h.polled(0, 4, at=second)
    step(h, "commit", "committed", at=25.0, took=5.0)
    left(h, 6, at=80.0, caught_up=True)


def _over_two_partitions(h: History, second: str) -> None:
    """A transaction writes five values to each partition and is committed."""
    h.topic(partitions=2)
    h.group(isolation="read_committed")
    for partition, marker in enumerate(("commit", second)):
        cluster(h, partition=partition)
        watched(h, 1, 6, times=(15.0, 45.0, 65.0, 85.0), partition=partition)
        replicas(
            h,
            Batch(0, 4, pid=1, base_sequence=0, sequence=5 * partition),
            Batch(5, 5, pid=1, control=marker),
            partition=partition,
        )
    started(h, at=5.0)
    h.sent(0, 4, at=8.0, transaction=0)
    h.sent(0, 4, at=8.1, partition=1, sequence=5, transaction=0)
    step(h, "commit", "committed", at=10.0)


@asks(
    "Two groups read an aborted transaction: one of committed values, one of all.",
    source=ISOLATION,
    expects={
        "divergent_readers": NONE,
        "aborted_read": NONE,
        "poll_skip": NONE,
        "skipped_record": NONE,
        "lost_record": NONE,
    },
)
def readers_of_two_isolations_differ_by_an_abort(h: History) -> None:
    _two_readers(h, second="abort", others="read_uncommitted")


@asks(
    "Two groups read a committed transaction by committed values, and one goes past it.",
    source="KafkaConsumer: records of a partition are returned in order; KIP-98",
    expects={"divergent_readers": VIOLATION, "poll_skip": VIOLATION},
)
def readers_of_one_isolation_differ_by_a_commit(h: History) -> None:
    _two_readers(h, second="commit", others="read_committed")


def _two_readers(h: History, *, second: str, others: str) -> None:
    """Transaction 1 ends by `second`; group `other` reads it, and the first group does not."""
    written(
        h,
        Batch(0, 4, pid=1, base_sequence=0),
        Batch(5, 5, pid=1, control="commit"),
        Batch(6, 10, pid=1, base_sequence=5, sequence=5),
        Batch(11, 11, pid=1, control=second),
        Batch(12, 14, producer="q", sequence=0),
    )
    h.group("other", isolation=others)
    first_transaction(h)
    step(h, "begin", "begun", at=11.0, transaction=1)
    h.sent(6, 10, at=12.0, sequence=5, transaction=1)
    ends = "committed" if second == "commit" else "aborted"
    step(h, second, ends, at=13.0, transaction=1)
    h.sent(12, 14, at=14.0, producer="q", sequence=0)
    for number, group in enumerate(("g", "other")):
        joined(h, 0, at=20.0 + number, group=group)
        h.polled(0, 4, at=22.0 + number, group=group)
        if group == "other":
            h.polled(6, 10, at=24.0, sequence=5, group=group)
        h.polled(12, 14, at=25.0 + number, producer="q", sequence=0, group=group)
        h.commit(15, 0, at=28.0 + number, group=group, brokers=(1, 2), generation=1)
        left(h, 15, at=80.0 + number, group=group, caught_up=True)


@asks(
    "A fenced producer's aborted values reach a read_committed group; its successor has the same "
    "producer id, and commits.",
    source=ABORTED,
    expects={"aborted_read": VIOLATION, "misapplied_marker": NONE, "hanging_transaction": NONE},
)
def aborted_values_of_a_shared_producer_id_are_read(h: History) -> None:
    _taken_over(h)
    begins_anew(h, "g", at=30.0)
    h.polled(0, 4, at=31.0)
    h.polled(6, 10, at=31.1, producer="q", sequence=0)
    left(h, 12, at=80.0, caught_up=True)


@asks(
    "A group of uncommitted values gets them, and one of committed values does not.",
    source=ABORTED + "; read_uncommitted returns all records",
    expects={
        "aborted_read": NONE,
        "divergent_readers": NONE,
        "poll_skip": NONE,
        "skipped_record": NONE,
        "history_consistent": NONE,
    },
)
def aborted_values_are_read_by_those_who_may(h: History) -> None:
    _taken_over(h)
    h.group("r")
    begins_anew(h, "g", at=30.0)
    begins_anew(h, "r", at=30.1)
    h.polled(0, 4, at=31.0, group="r")
    h.polled(6, 10, at=31.1, producer="q", sequence=0, group="r")
    h.polled(6, 10, at=31.2, producer="q", sequence=0)
    for group in ("g", "r"):
        left(h, 12, at=80.0, caught_up=True, group=group)
    renumbered(h)


def _taken_over(h: History) -> None:
    """Producer p's transaction at 0 to 4 is aborted; its successor q commits 6 to 10."""
    h.topic()
    h.group(isolation="read_committed")
    cluster(h)
    started(h, at=5.0)
    h.sent(0, 4, at=8.0, transaction=0)
    started(h, at=12.0, producer="q", pid_epoch=2)
    h.sent(6, 10, at=13.0, producer="q", sequence=0, transaction=0)
    step(h, "commit", "committed", at=14.0, producer="q", pid_epoch=2)
    failure = {"outcome": "failed", "error": "ProducerFencedException"}
    step(h, "commit", "fenced", at=16.0, pid=0, pid_epoch=-1, **failure)
    replicas(
        h,
        Batch(0, 4, pid=1, base_sequence=0, at=8.0),
        Batch(5, 5, pid=1, pid_epoch=1, control="abort", at=11.97),
        Batch(6, 10, pid=1, pid_epoch=2, base_sequence=0, producer="q", sequence=0, at=13.0),
        Batch(11, 11, pid=1, pid_epoch=2, control="commit", at=14.0),
    )
    watched(h, 1, 0, times=(1.0,))
    watched(h, 1, 12, times=(15.0, 35.0, 55.0, 75.0, 85.0))
