"""Markers: the ends of transactions that strike the wrong one, twice, or never."""

from tests.exam.history import NONE, NOT_VIOLATION, UNDECIDED, VIOLATION, History, asks, asks_each
from tests.exam.transaction_verbs import (
    Batch,
    described,
    first_transaction,
    replicas,
    started,
    step,
    written,
)
from tests.exam.verbs import cluster, joined, left, watched

MARKER = "KAFKA-17754, KIP-890: an EndTxn that was delayed must not end a later transaction"
HANGING = "KIP-664: a transaction that no marker ends holds the last stable offset"
KIP_890 = "KIP-890, Motivation: a late batch after the marker of its transaction"
BUMPED = "KIP-890, Proposed Changes: the producer epoch is raised at each end of a transaction"
FENCING = "KIP-98, section Transaction Coordinator: a newer instance fences the older one"


@asks(
    "With transaction version 2 each marker carries the raised epoch, under which the producer "
    "goes on.",
    source="KIP-890, part 2: the epoch is raised at each end of a transaction",
    expects={
        "zombie_producer_accepted": NONE,
        "misapplied_marker": NONE,
        "hanging_transaction": NONE,
        "torn_transaction": NONE,
        "aborted_read": NONE,
    },
)
def epoch_grows_with_each_transaction(h: History) -> None:
    written(
        h,
        Batch(0, 4, pid=1, base_sequence=0),
        Batch(5, 5, pid=1, pid_epoch=1, control="commit"),
        Batch(6, 10, pid=1, pid_epoch=1, base_sequence=0, sequence=5),
        Batch(11, 11, pid=1, pid_epoch=2, control="commit"),
    )
    started(h, at=5.0)
    h.sent(0, 4, at=8.0, transaction=0)
    step(h, "commit", "committed", at=10.0, pid_epoch=1)
    step(h, "begin", "begun", at=11.0, pid_epoch=1, transaction=1)
    h.sent(6, 10, at=12.0, sequence=5, transaction=1)
    step(h, "commit", "committed", at=15.0, pid_epoch=2, transaction=1)
    joined(h, 0, at=40.0)
    h.polled(0, 4, at=41.0)
    h.polled(6, 10, at=41.1, sequence=5)
    left(h, 12, at=80.0, caught_up=True)


@asks(
    "A late abort of the transaction before ends the first half of one that commits.",
    source=MARKER,
    expects={
        "misapplied_marker": f"{VIOLATION}: split",
        "torn_transaction": VIOLATION,
        "aborted_read": NONE,
        "hanging_transaction": NONE,
    },
)
def late_abort_hits_a_committed_transaction(h: History) -> None:
    _late_marker(h, late="abort", asked="commit")
    joined(h, 0, at=40.0)
    h.polled(12, 14, at=41.0, sequence=10)
    left(h, 16, at=80.0, caught_up=True)


@asks(
    "A late commit of the transaction before ends the first half of one that aborts, and that "
    "half is read.",
    source=MARKER + "; isolation.level=read_committed",
    expects={
        "misapplied_marker": VIOLATION,
        "aborted_read": VIOLATION,
        "hanging_transaction": NONE,
    },
)
def late_commit_hits_an_aborted_transaction(h: History) -> None:
    _late_marker(h, late="commit", asked="abort")
    joined(h, 0, at=40.0)
    h.polled(0, 4, at=41.0)
    h.polled(6, 10, at=41.1, sequence=5)
    left(h, 16, at=80.0, caught_up=True)


@asks(
    "The coordinator writes the same commit marker twice, with no record between them.",
    source="KIP-98: markers are retried until all partitions have them; "
    "ProducerAppendInfo.appendEndTxnMarker: one without data has no effect",
    expects={
        "misapplied_marker": NONE,
        "zombie_producer_accepted": NONE,
        "torn_transaction": NONE,
        "hanging_transaction": NONE,
    },
)
def marker_is_written_twice(h: History) -> None:
    written(
        h,
        Batch(0, 4, pid=1, base_sequence=0),
        Batch(5, 5, pid=1, control="commit"),
        Batch(6, 6, pid=1, control="commit"),
        Batch(7, 11, pid=1, base_sequence=5, sequence=5),
        Batch(12, 12, pid=1, control="commit"),
    )
    first_transaction(h)
    step(h, "begin", "begun", at=14.0, transaction=1)
    h.sent(7, 11, at=15.0, sequence=5, transaction=1)
    step(h, "commit", "committed", at=20.0, transaction=1)
    joined(h, 0, at=40.0)
    h.polled(0, 4, at=41.0)
    h.polled(7, 11, at=41.1, sequence=5)
    left(h, 13, at=80.0, caught_up=True)


@asks(
    "The coordinator says that all of a transaction is over, and no marker stands after its "
    "records for 70 s.",
    source=HANGING,
    expects={"hanging_transaction": VIOLATION, "aborted_read": NONE, "misapplied_marker": NONE},
)
def transaction_hangs(h: History) -> None:
    written(h, Batch(0, 4, pid=1, base_sequence=0))
    started(h, at=5.0)
    h.sent(0, 4, at=8.0, transaction=0)
    step(h, "abort", "aborted", at=10.0)
    joined(h, 0, at=40.0)
    described(h, "CompleteAbort", at=50.0)
    described(h, "CompleteAbort", at=80.0)
    h.changed("stalled", at=85.0, position=0, generation=1)


@asks(
    "The marker of another producer stands after the records of a transaction that none ends.",
    source=HANGING + "; a marker ends the transaction of its producer id",
    expects={"hanging_transaction": VIOLATION, "misapplied_marker": NONE},
)
def marker_of_another_producer_ends_nothing(h: History) -> None:
    written(
        h,
        Batch(0, 4, pid=1, base_sequence=0, producer="a"),
        Batch(5, 9, pid=2, base_sequence=0, producer="b", sequence=0),
        Batch(10, 10, pid=2, control="commit"),
    )
    started(h, at=5.0, producer="a")
    started(h, at=6.0, pid=2, producer="b", transactional_id="y")
    h.sent(0, 4, at=8.0, producer="a", transaction=0)
    h.sent(5, 9, at=9.0, producer="b", sequence=0, transaction=0)
    step(h, "commit", "committed", at=10.0, producer="a")
    step(h, "commit", "committed", at=12.0, pid=2, producer="b", transactional_id="y")
    described(h, "CompleteCommit", at=50.0)
    described(h, "CompleteCommit", at=80.0, pid=2, transactional_id="y")


@asks(
    "A transaction is open when the run ends, three seconds after its last record.",
    source="transaction.timeout.ms: 60 s by default; KIP-664",
    expects={"hanging_transaction": NOT_VIOLATION, "torn_transaction": NOT_VIOLATION},
    alone=True,
)
def transaction_is_open_at_the_end(h: History) -> None:
    written(
        h,
        Batch(0, 4, pid=1, base_sequence=0),
        Batch(5, 5, pid=1, control="commit"),
        Batch(6, 10, pid=1, base_sequence=5, sequence=5),
        times=(83.0, 84.5),
    )
    first_transaction(h)
    joined(h, 0, at=40.0)
    h.polled(0, 4, at=41.0)
    step(h, "begin", "begun", at=81.0, transaction=1)
    h.sent(6, 10, at=82.0, sequence=5, transaction=1)
    described(h, "Ongoing", at=84.0)
    left(h, 6, at=85.0)


def _late_marker(h: History, *, late: str, asked: str) -> None:
    """A first transaction ends at 5; its end strikes again at 11, within the second one."""
    written(
        h,
        Batch(0, 4, pid=1, base_sequence=0),
        Batch(5, 5, pid=1, control=late),
        Batch(6, 10, pid=1, base_sequence=5, sequence=5),
        Batch(11, 11, pid=1, control=late),
        Batch(12, 14, pid=1, base_sequence=10, sequence=10),
        Batch(15, 15, pid=1, control=asked),
    )
    done = {"commit": "committed", "abort": "aborted"}
    started(h, at=5.0)
    h.sent(0, 4, at=8.0, transaction=0)
    step(h, late, done[late], at=10.0)
    step(h, "begin", "begun", at=11.0, transaction=1)
    h.sent(6, 10, at=12.0, sequence=5, transaction=1)
    h.sent(12, 14, at=15.0, sequence=10, transaction=1)
    step(h, asked, done[asked], at=17.0, transaction=1)


@asks(
    "A transaction was committed, as its client says; the coordinator's last word, 9 s later, is "
    "that it is complete, and no marker is there.",
    source=HANGING + "; docs/findings.md, hanging_transaction: a marker may be on its way",
    expects={"hanging_transaction": f"{UNDECIDED}: committed, never visible"},
    alone=True,
)
def no_marker_just_after_a_commit(h: History) -> None:
    written(h, Batch(0, 4, pid=1, base_sequence=0), times=(10.5,))
    first_transaction(h)
    described(h, "CompleteCommit", at=19)


@asks(
    "A transaction was aborted, and no marker is there 9 s later.",
    source=HANGING + "; docs/findings.md, hanging_transaction: a marker may be on its way",
    expects={"hanging_transaction": f"{UNDECIDED}: ended without a marker"},
    alone=True,
)
def no_marker_just_after_an_abort(h: History) -> None:
    written(h, Batch(0, 4, pid=1, base_sequence=0), times=(10.5,))
    started(h, at=5.0)
    h.sent(0, 4, at=8.0, transaction=0)
    step(h, "abort", "aborted", at=10.0)
    described(h, "CompleteAbort", at=19)


@asks_each(
    "Five records of a transaction have a commit marker; at its client",
    source="contract/outcomes.py: unknown, the response leaves both possible; KIP-98, EndTxn",
    check="misapplied_marker",
    cases={
        "nobody had asked for an end.": (f"{VIOLATION}: contrary", {}),
        "the commit was refused.": (
            f"{UNDECIDED}: contrary",
            {"change": "fenced", "outcome": "failed", "error": "ProducerFencedException"},
        ),
        "the commit timed out.": (
            NONE,
            {"change": "failed", "outcome": "unknown", "error": "TimeoutException"},
        ),
        "the transaction was aborted.": (
            f"{VIOLATION}: contrary",
            {"asked": "abort", "change": "aborted"},
        ),
    },
)
def commit_marker_against_its_client(
    h: History, *, asked: str = "commit", change: str = "", **outcome: str
) -> None:
    written(h, Batch(0, 4, pid=1, base_sequence=0), Batch(5, 5, pid=1, control="commit"))
    started(h, at=5)
    h.sent(0, 4, at=8, transaction=0)
    if change:
        step(h, asked, change, at=10, **outcome)


@asks(
    "Of a committed transaction a group gets one value; another one was not acknowledged, and is "
    "in no log.",
    source="KIP-98; decision 15: nothing shows that the value was appended",
    expects={"torn_transaction": UNDECIDED},
)
def write_of_unknown_outcome_is_not_delivered(h: History) -> None:
    _partly_written(h, delivered=True)


@asks(
    "Of a committed transaction the only value was not acknowledged, and is in no log.",
    source="KIP-98; decision 15: nothing shows that the value was appended",
    expects={"torn_transaction": UNDECIDED},
)
def only_write_of_unknown_outcome_is_not_delivered(h: History) -> None:
    _partly_written(h, delivered=False)


def _partly_written(h: History, *, delivered: bool) -> None:
    """A transaction whose value 5 has no answer; a plain record follows its marker."""
    written(
        h,
        Batch(0, 4, **({"pid": 1, "base_sequence": 0} if delivered else {})),
        Batch(5, 5, pid=1, control="commit"),
        Batch(6, 6, producer="q", sequence=0),
    )
    started(h, at=5.0)
    h.sent(0, 4, at=8.0, transaction=0 if delivered else None)
    h.sent(None, at=9.0, sequence=5, transaction=0, outcome="unknown", error="TimeoutException")
    step(h, "commit", "committed", at=10.0)
    h.sent(6, at=12.0, producer="q", sequence=0)
    joined(h, 0, at=20.0)
    h.polled(0, 4, at=21.0)
    h.polled(6, at=22.0, producer="q", sequence=0)
    left(h, 7, at=80.0, caught_up=True)


@asks(
    "A value of a failed send of a transaction is delivered to a read_committed group.",
    source="KafkaProducer.send: a transaction with a failed send can only be aborted",
    expects={"aborted_read": VIOLATION},
)
def failed_send_is_delivered(h: History) -> None:
    written(h, Batch(0, 4, pid=1, base_sequence=0), Batch(5, 5, pid=1, control="commit"))
    started(h, at=5.0)
    h.sent(0, 3, at=8.0, transaction=0)
    h.sent(4, at=8.1, transaction=0, outcome="failed", error="TimeoutException")
    step(h, "commit", "committed", at=10.0)
    joined(h, 0, at=20.0)
    h.polled(0, 4, at=21.0)


@asks(
    "A commit has no answer and no marker; its records reach a read_committed group.",
    source="KIP-98; decision 15: nothing shows how the transaction ended",
    expects={"aborted_read": UNDECIDED},
)
def transaction_of_an_unknown_end_is_delivered(h: History) -> None:
    written(h, Batch(0, 4, pid=1, base_sequence=0))
    started(h, at=5.0)
    h.sent(0, 4, at=8.0, transaction=0)
    step(h, "commit", "failed", at=38.0, took=30.0, outcome="unknown", error="TimeoutException")
    joined(h, 0, at=40.0)
    h.polled(0, 4, at=41.0)


@asks(
    "A batch that comes after the abort of its transaction is committed by the next transaction.",
    source=KIP_890,
    expects={"aborted_read": VIOLATION, "misapplied_marker": VIOLATION, "lost_record": NONE},
)
def late_batch_rides_on_the_next_transaction(h: History) -> None:
    written(
        h,
        Batch(0, 4, pid=1, base_sequence=0),
        Batch(5, 5, pid=1, control="abort"),
        Batch(6, 6, pid=1, base_sequence=5, sequence=5),
        Batch(7, 11, pid=1, pid_epoch=1, base_sequence=0, sequence=6),
        Batch(12, 12, pid=1, pid_epoch=1, control="commit"),
    )
    _given_up_after_a_timeout(h)
    step(h, "begin", "begun", at=20.0, transaction=1, pid_epoch=1)
    h.sent(7, 11, at=22.0, sequence=6, transaction=1)
    step(h, "commit", "committed", at=24.0, transaction=1, pid_epoch=1)
    joined(h, 0, at=30.0)
    h.polled(6, 11, at=31.0, sequence=5)
    h.changed("caught_up", at=50.0, position=13, generation=1)
    left(h, 13, at=80.0)


@asks(
    "A batch that comes after the abort of its transaction stays open until the end of the run.",
    source=KIP_890 + "; the last stable offset stays before it",
    expects={
        "hanging_transaction": VIOLATION,
        "zombie_producer_accepted": VIOLATION,
        "aborted_read": NONE,
    },
)
def late_batch_of_an_older_epoch_hangs(h: History) -> None:
    written(
        h,
        Batch(0, 4, pid=1, base_sequence=0),
        Batch(5, 5, pid=1, pid_epoch=1, control="abort"),
        Batch(6, 6, pid=1, base_sequence=5, sequence=5),
    )
    _given_up_after_a_timeout(h)
    joined(h, 0, at=30.0)
    h.changed("stalled", at=60.0, position=6, generation=1)
    left(h, 6, at=80.0)


@asks(
    "Each marker has a producer epoch above that of its writes; sequence numbers begin again.",
    source=BUMPED,
    expects={
        "zombie_producer_accepted": NONE,
        "hanging_transaction": NONE,
        "misapplied_marker": NONE,
        "duplicate_append": NONE,
        "poll_skip": NONE,
    },
)
def every_end_raises_the_producer_epoch(h: History) -> None:
    written(
        h,
        Batch(0, 4, pid=1, base_sequence=0),
        Batch(5, 5, pid=1, pid_epoch=1, control="commit"),
        Batch(6, 9, pid=1, pid_epoch=1, base_sequence=0, sequence=5),
        Batch(10, 10, pid=1, pid_epoch=2, control="abort"),
        Batch(11, 12, pid=1, pid_epoch=2, base_sequence=0, sequence=9),
        Batch(13, 13, pid=1, pid_epoch=3, control="commit"),
    )
    started(h, at=5.0)
    h.sent(0, 4, at=8.0, transaction=0)
    step(h, "commit", "committed", at=10.0, pid_epoch=1)
    step(h, "begin", "begun", at=11.0, transaction=1, pid_epoch=1)
    h.sent(6, 9, at=12.0, sequence=5, transaction=1)
    step(h, "abort", "aborted", at=14.0, transaction=1, pid_epoch=2)
    step(h, "begin", "begun", at=15.0, transaction=2, pid_epoch=2)
    h.sent(11, 12, at=16.0, sequence=9, transaction=2)
    step(h, "commit", "committed", at=18.0, transaction=2, pid_epoch=3)
    joined(h, 0, at=30.0)
    h.polled(0, 4, at=31.0)
    h.polled(11, 12, at=31.2, sequence=9)
    h.changed("caught_up", at=50.0, position=14, generation=1)
    left(h, 14, at=80.0)


@asks(
    "A fenced producer hears only then that its batch, written before, was accepted.",
    source=FENCING + "; the order in the log decides, not that of the responses",
    expects={
        "zombie_producer_accepted": NONE,
        "misapplied_marker": NONE,
        "aborted_read": NONE,
        "hanging_transaction": NONE,
        "lost_record": NONE,
    },
)
def answer_arrives_after_the_successor_is_there(h: History) -> None:
    _taken_over(h)
    step(h, "commit", "fenced", at=16.0, outcome="failed", error="ProducerFencedException")
    _read_behind_the_successor(h)


@asks(
    "A commit times out after 30 s; its markers were written at once, and a group reads on.",
    source="KafkaProducer.commitTransaction: a TimeoutException leaves open whether it took effect",
    expects={
        "misapplied_marker": NONE,
        "precommitted_read": NONE,
        "aborted_read": NONE,
        "torn_transaction": NONE,
        "hanging_transaction": NONE,
    },
)
def commit_that_timed_out_was_carried_out(h: History) -> None:
    _in_two_partitions(h, "commit", "commit")
    joined(h, 0, at=5.0, partitions=(0, 1))
    h.polled(0, 4, at=13.0)
    h.polled(0, 4, at=13.1, sequence=5, partition=1)
    for partition in (0, 1):
        h.changed("caught_up", at=60.0, position=6, partition=partition, generation=1)


@asks(
    "A commit times out; one partition has a commit marker, and the other one an abort marker.",
    source="KIP-98: a transaction is atomic over its partitions, whatever its client hears",
    expects={"misapplied_marker": f"{VIOLATION}: mixed"},
)
def commit_that_timed_out_is_half_an_abort(h: History) -> None:
    _in_two_partitions(h, "commit", "abort")
    joined(h, 0, at=5.0, partitions=(0, 1))
    h.polled(0, 4, at=13.0)
    for partition in (0, 1):
        h.changed("caught_up", at=60.0, position=6, partition=partition, generation=1)


def _given_up_after_a_timeout(h: History) -> None:
    """Transaction 0 sends five values, and one that times out; so its client aborts it."""
    started(h, at=5.0)
    h.sent(0, 4, at=8.0, transaction=0)
    h.sent(
        None,
        at=14.0,
        intended_at=9.0,
        sequence=5,
        outcome="unknown",
        error="TimeoutException",
        transaction=0,
    )
    step(h, "abort", "aborted", at=15.0, pid_epoch=1)


def _taken_over(h: History) -> None:
    """`q` takes the transactional.id over at second 12, while an answer to `p` is on its way."""
    written(
        h,
        Batch(0, 4, pid=1, base_sequence=0),
        Batch(5, 5, pid=1, pid_epoch=1, control="abort"),
        Batch(6, 10, pid=1, pid_epoch=2, base_sequence=0, producer="q", sequence=0),
        Batch(11, 11, pid=1, pid_epoch=2, control="commit"),
    )
    started(h, at=5.0)
    h.sent(0, 4, at=14.0, intended_at=10.0, transaction=0)
    started(h, at=12.0, pid_epoch=2, producer="q")
    h.sent(6, 10, at=18.0, producer="q", sequence=0, transaction=0)
    step(h, "commit", "committed", at=20.0, pid_epoch=2, producer="q")


def _read_behind_the_successor(h: History) -> None:
    joined(h, 0, at=30.0)
    h.polled(6, 10, at=31.0, producer="q", sequence=0)
    h.changed("caught_up", at=50.0, position=12, generation=1)
    left(h, 12, at=80.0)


def _in_two_partitions(h: History, *markers: str) -> None:
    """One transaction writes five values to each of two partitions; its commit times out."""
    h.topic(partitions=2)
    h.group(isolation="read_committed")
    for partition, marker in enumerate(markers):
        cluster(h, partition=partition)
        h.sampled(1, at=1.0, end=0, isr=(1, 2), partition=partition)
        watched(h, 1, 6, times=(15.0, 45.0, 85.0), partition=partition)
        replicas(
            h,
            Batch(0, 4, pid=1, base_sequence=0, sequence=5 * partition),
            Batch(5, 5, pid=1, control=marker),
            partition=partition,
        )
    started(h, at=5.0)
    h.sent(0, 4, at=8.0, transaction=0)
    h.sent(0, 4, at=8.1, partition=1, sequence=5, transaction=0)
    step(h, "commit", "failed", at=42.0, took=30.0, outcome="unknown", error="TimeoutException")
