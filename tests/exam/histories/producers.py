"""Producers: old epochs, gaps, and markers that end the wrong transaction, or none."""

from tests.exam.history import NONE, PERMITTED, UNDECIDED, VIOLATION, History, asks
from tests.exam.transaction_verbs import Batch, first_transaction, replicas, started, step, written
from tests.exam.verbs import cluster, first_start, joined, left, watched

FENCED = "KIP-98: InitProducerId raises the epoch, and brokers refuse a lower one"
SEQUENCE = "KIP-98; ProducerAppendInfo.checkSequence"


@asks(
    "A producer of epoch 0 is acknowledged after one of epoch 1 was initialised and had written.",
    source=FENCED,
    expects={"zombie_producer_accepted": VIOLATION, "lost_record": NONE},
)
def old_epoch_after_a_newer_one_wrote(h: History) -> None:
    written(
        h,
        Batch(0, 4, pid=1, base_sequence=0),
        Batch(5, 5, pid=1, control="commit"),
        Batch(6, 10, pid=1, pid_epoch=1, base_sequence=0, producer="p2", sequence=0),
        Batch(11, 15, pid=1, pid_epoch=0, base_sequence=5, sequence=5),
        Batch(16, 16, pid=1, pid_epoch=1, control="commit"),
    )
    first_transaction(h)
    started(h, at=20.0, pid_epoch=1, producer="p2")
    h.sent(6, 10, at=22.0, producer="p2", sequence=0, transaction=0)
    step(h, "begin", "begun", at=23.0, transaction=1)
    h.sent(11, 15, at=25.0, sequence=5, transaction=1)
    step(h, "commit", "committed", at=30.0, producer="p2", pid_epoch=1)


@asks(
    "A producer of epoch 0 is acknowledged 5 s after one of epoch 1 was initialised, which had "
    "not written yet.",
    source=FENCED + "; KIP-890, part 1: a partition is verified with the coordinator",
    expects={"zombie_producer_accepted": VIOLATION},
)
def old_epoch_before_a_newer_one_wrote(h: History) -> None:
    written(
        h,
        Batch(0, 4, pid=1, base_sequence=0),
        Batch(5, 5, pid=1, control="commit"),
        Batch(6, 10, pid=1, pid_epoch=0, base_sequence=5, sequence=5),
        Batch(11, 15, pid=1, pid_epoch=1, base_sequence=0, producer="p2", sequence=0),
        Batch(16, 16, pid=1, pid_epoch=1, control="commit"),
    )
    first_transaction(h)
    started(h, at=20.0, pid_epoch=1, producer="p2")
    step(h, "begin", "begun", at=23.0, transaction=1)
    h.sent(6, 10, at=25.0, sequence=5, transaction=1)
    h.sent(11, 15, at=28.0, producer="p2", sequence=0, transaction=0)
    step(h, "commit", "committed", at=30.0, producer="p2", pid_epoch=1)


@asks(
    "A producer of epoch 0 is refused once one of epoch 1 was initialised.",
    source=FENCED,
    expects={
        "zombie_producer_accepted": NONE,
        "aborted_read": NONE,
        "outcome_mismatch": NONE,
        "hanging_transaction": NONE,
    },
)
def old_epoch_is_refused(h: History) -> None:
    written(
        h,
        Batch(0, 4, pid=1, base_sequence=0),
        Batch(5, 5, pid=1, control="commit"),
        Batch(6, 10, pid=1, pid_epoch=1, base_sequence=0, producer="p2", sequence=0),
        Batch(11, 11, pid=1, pid_epoch=1, control="commit"),
    )
    first_transaction(h)
    started(h, at=20.0, pid_epoch=1, producer="p2")
    h.sent(6, 10, at=22.0, producer="p2", sequence=0, transaction=0)
    step(h, "begin", "begun", at=23.0, transaction=1)
    h.sent(
        None,
        at=25.0,
        count=5,
        sequence=5,
        transaction=1,
        outcome="failed",
        error="InvalidProducerEpochException",
    )
    error = "ProducerFencedException"
    step(h, "commit", "fenced", at=26.0, transaction=1, outcome="failed", error=error)
    step(h, "commit", "committed", at=30.0, producer="p2", pid_epoch=1)
    joined(h, 0, at=40.0)
    h.polled(0, 4, at=41.0)
    h.polled(6, 10, at=41.1, producer="p2", sequence=0)
    left(h, 12, at=80.0, caught_up=True)


@asks(
    "A producer of epoch 0 is acknowledged while its successor is being initialised; a marker "
    "then aborts it.",
    source=FENCED + "; until its answer both may write; the marker carries the raised epoch",
    expects={
        "zombie_producer_accepted": NONE,
        "aborted_read": NONE,
        "misapplied_marker": NONE,
        "hanging_transaction": NONE,
        "torn_transaction": NONE,
    },
)
def old_epoch_while_the_new_one_is_made(h: History) -> None:
    written(
        h,
        Batch(0, 4, pid=1, base_sequence=0),
        Batch(5, 5, pid=1, pid_epoch=1, control="abort"),
        Batch(6, 10, pid=1, pid_epoch=2, base_sequence=0, producer="p2", sequence=0),
        Batch(11, 11, pid=1, pid_epoch=2, control="commit"),
    )
    started(h, at=5.0)
    h.sent(0, 4, at=10.0, transaction=0)
    step(
        h,
        "initialize",
        "initialized",
        at=12.0,
        took=4.0,
        transaction=None,
        producer="p2",
        pid_epoch=2,
    )
    step(h, "begin", "begun", at=12.5, producer="p2", pid_epoch=2)
    h.sent(6, 10, at=14.0, producer="p2", sequence=0, transaction=0)
    error = "ProducerFencedException"
    step(h, "commit", "fenced", at=15.0, outcome="failed", error=error)
    step(h, "commit", "committed", at=16.0, producer="p2", pid_epoch=2)
    joined(h, 0, at=40.0)
    h.polled(6, 10, at=41.0, producer="p2", sequence=0)
    left(h, 12, at=80.0, caught_up=True)


@asks(
    "Two transactional ids write by turns, one at producer epoch 3 and one at 0.",
    source="KIP-98: an epoch belongs to a producer id",
    expects={
        "zombie_producer_accepted": NONE,
        "hanging_transaction": NONE,
        "torn_transaction": NONE,
    },
)
def epochs_of_two_producers_are_not_compared(h: History) -> None:
    written(
        h,
        Batch(0, 4, pid=1, pid_epoch=3, base_sequence=0, producer="a"),
        Batch(5, 9, pid=2, base_sequence=0, producer="b", sequence=0),
        Batch(10, 10, pid=1, pid_epoch=3, control="commit"),
        Batch(11, 11, pid=2, control="commit"),
    )
    started(h, at=5.0, pid_epoch=3, producer="a")
    started(h, at=6.0, pid=2, producer="b", transactional_id="y")
    h.sent(0, 4, at=8.0, producer="a", transaction=0)
    h.sent(5, 9, at=9.0, producer="b", sequence=0, transaction=0)
    step(h, "commit", "committed", at=12.0, producer="a", pid_epoch=3)
    step(h, "commit", "committed", at=13.0, pid=2, producer="b", transactional_id="y")


@asks(
    "A log holds sequence numbers 0 to 4 of an idempotent producer, and then 10 to 14.",
    source=SEQUENCE + ": the next one must follow",
    expects={"zombie_producer_accepted": VIOLATION},
)
def gap_in_the_sequence_numbers(h: History) -> None:
    written(
        h,
        Batch(0, 4, pid=1, base_sequence=0, is_transactional=False),
        Batch(5, 9, pid=1, base_sequence=10, is_transactional=False, sequence=10),
    )
    idem = {"is_idempotent": True, "in_flight_max": 5}
    h.sent(0, 4, at=8.0, **idem)
    h.sent(None, at=9.0, count=5, sequence=5, outcome="unknown", error="TimeoutException", **idem)
    h.sent(5, 9, at=9.1, sequence=10, **idem)


@asks(
    "The sequence numbers of an idempotent producer pass 2147483647 and go on at 0.",
    source=SEQUENCE + ": after the largest integer follows 0",
    expects={"zombie_producer_accepted": NONE, "duplicate_append": NONE},
)
def sequence_numbers_wrap_around(h: History) -> None:
    # The partition knew nothing of the producer before, so that any first number is accepted.
    top = 2**31 - 1
    written(
        h,
        Batch(0, 4, pid=1, base_sequence=top - 4, is_transactional=False),
        Batch(5, 9, pid=1, base_sequence=0, is_transactional=False),
    )
    h.sent(0, 4, at=8.0, is_idempotent=True, in_flight_max=5)
    h.sent(5, 9, at=9.0, is_idempotent=True, in_flight_max=5)


@asks(
    "A fenced producer's commit gets no answer.",
    source=FENCED + "; decision 15",
    expects={"zombie_producer_accepted": UNDECIDED},
)
def commit_of_an_old_epoch_has_no_answer(h: History) -> None:
    _commits_late(h, "unknown", "TimeoutException")


@asks(
    "A fenced producer's commit is refused, but by an error that is not about its epoch.",
    source=FENCED,
    expects={"zombie_producer_accepted": PERMITTED},
)
def commit_of_an_old_epoch_is_refused_otherwise(h: History) -> None:
    _commits_late(h, "failed", "InvalidTxnStateException")


def _commits_late(h: History, outcome: str, error: str) -> None:
    """A producer commits 6 s after its successor was initialised."""
    written(
        h,
        Batch(0, 4, pid=1, base_sequence=0),
        Batch(5, 5, pid=1, pid_epoch=1, control="abort"),
    )
    started(h, at=5.0)
    h.sent(0, 4, at=8.0, transaction=0)
    started(h, at=20.0, pid_epoch=1, producer="p2")
    step(h, "commit", "fenced", at=26.0, outcome=outcome, error=error)


@asks(
    "With transaction.version=2 each end of a transaction raises the epoch, its marker's first.",
    source="KIP-890, Bump epoch on each transaction: the marker has the new epoch, and sequence "
    "numbers begin again",
    expects={
        "hanging_transaction": NONE,
        "misapplied_marker": NONE,
        "duplicate_append": NONE,
        "torn_transaction": NONE,
        "history_consistent": NONE,
    },
)
def epochs_rise_with_each_transaction(h: History) -> None:
    h.topic()
    h.group(isolation="read_committed")
    cluster(h)
    started(h, at=5.0)
    h.sent(0, 4, at=8.0, transaction=0, is_idempotent=True, in_flight_max=5)
    step(h, "commit", "committed", at=10.0, pid_epoch=1)
    step(h, "begin", "begun", at=11.0, transaction=1, pid_epoch=1)
    h.sent(6, 10, at=12.0, sequence=5, transaction=1, is_idempotent=True, in_flight_max=5)
    step(h, "commit", "committed", at=13.0, transaction=1, pid_epoch=2)
    replicas(
        h,
        Batch(0, 4, pid=1, base_sequence=0, at=8.0),
        Batch(5, 5, pid=1, pid_epoch=1, control="commit", at=10.0),
        Batch(6, 10, pid=1, pid_epoch=1, base_sequence=0, sequence=5, at=12.0),
        Batch(11, 11, pid=1, pid_epoch=2, control="commit", at=13.0),
    )
    watched(h, 1, 12, times=(15.0, 45.0, 85.0))
    first_start(h, 0, at=19.8)
    joined(h, 0, at=20.0)
    h.polled(0, 4, at=20.5)
    h.polled(6, 10, at=20.6, sequence=5)
    left(h, 12, at=80.0, caught_up=True)
