"""Transactions that read and write: offsets and output hold together, or not at all."""

from tests.exam.history import NONE, NOT_VIOLATION, PERMITTED, UNDECIDED, VIOLATION, History, asks
from tests.exam.scenes import copies
from tests.exam.transaction_verbs import Batch, replicas, started, step, stored_in_transaction
from tests.exam.verbs import begun, cluster, joined, left, plain, watched

TOGETHER = "KIP-98, sendOffsetsToTransaction: offsets are part of the transaction"
JAVADOC = "OffsetAndMetadata.leaderEpoch Javadoc: the epoch of the record consumed before"
Q = {"producer": "q"}
OFFSETS_TOO = "KIP-98, sendOffsetsToTransaction: offsets are committed with the transaction or not"


@asks(
    "A transaction's offsets were committed, and its output has an abort marker.",
    source=TOGETHER,
    expects={"offsets_without_output": f"{VIOLATION}: aborted", "output_without_offsets": NONE},
)
def offsets_hold_and_output_does_not(h: History) -> None:
    _pipeline(h, output="abort", offsets="commit")


@asks(
    "A transaction's output was committed, and its offsets have an abort marker.",
    source=TOGETHER,
    expects={"output_without_offsets": f"{VIOLATION}: aborted", "offsets_without_output": NONE},
)
def output_holds_and_offsets_do_not(h: History) -> None:
    _pipeline(h, output="commit", offsets="abort")


@asks(
    "A transaction's output was committed, its offsets were acknowledged and are stored nowhere.",
    source=TOGETHER + "; KIP-1319: TxnOffsetCommit",
    expects={"output_without_offsets": VIOLATION, "offsets_without_output": NONE},
)
def output_holds_and_offsets_are_nowhere(h: History) -> None:
    _pipeline(h, output="commit", offsets=None)


@asks(
    "They are stored nowhere; another member of the group commits another partition afterwards.",
    source=TOGETHER + "; compaction removes what a later commit of the partition replaces",
    expects={"output_without_offsets": VIOLATION},
)
def another_partition_is_committed_later(h: History) -> None:
    _pipeline(h, output="commit", offsets=None)
    h.commit(5, 0, at=50.0, topic="in", partition=1, member="2", brokers=(1, 2))


@asks(
    "A transaction's output and offsets were both committed.",
    source=TOGETHER,
    expects={
        "offsets_without_output": NONE,
        "output_without_offsets": NONE,
        "torn_transaction": NONE,
        "misapplied_marker": NONE,
        "commit_mismatch": NONE,
    },
)
def output_and_offsets_hold(h: History) -> None:
    _pipeline(h, output="commit", offsets="commit")


@asks(
    "They were both committed, and the input's topic is created again afterwards.",
    source=TOGETHER + "; KIP-516: a topic that is created again is another one",
    expects={"offsets_without_output": NONE, "output_without_offsets": NONE, "lost_commit": NONE},
)
def input_is_created_again_after_its_transaction(h: History) -> None:
    _pipeline(h, output="commit", offsets="commit")
    h.fault("recreate", h.on_topic("in"), injected=40.0, proved=42.5, healed=42.5)
    h.led(1, 0, at=42.0, isr=(1, 2), topic="in", topic_id="again", starts=0)
    for table in ("replica_records", "replica_batches", "log_starts", "epoch_checkpoints"):
        h.rows[table] = [row for row in h.rows[table] if row["topic"] != h.own("in")]
    copies(h, (1, 2), topic="in")


@asks(
    "A transaction's output and offsets were both aborted, and its input is read again.",
    source=TOGETHER,
    expects={
        "offsets_without_output": NONE,
        "output_without_offsets": NONE,
        "lost_commit": NONE,
        "aborted_read": NONE,
    },
)
def neither_output_nor_offsets_hold(h: History) -> None:
    _pipeline(h, output="abort", offsets="abort")


@asks(
    "A transaction commits offsets and writes nothing, since it drops all that it read.",
    source=TOGETHER + "; a transaction need not write",
    expects={"offsets_without_output": NONE, "output_without_offsets": NONE, "lost_commit": NONE},
)
def transaction_writes_nothing(h: History) -> None:
    _pipeline(h, output=None, offsets="commit")


@asks(
    "A transaction writes and never asks to store offsets.",
    source="KIP-98: sendOffsetsToTransaction is optional",
    expects={
        "output_without_offsets": NONE,
        "offsets_without_output": NONE,
        "torn_transaction": NONE,
    },
)
def transaction_stores_no_offsets(h: History) -> None:
    _pipeline(h, output="commit", offsets=None, asked=False)


@asks(
    "An application stores its consumer's position, beyond a marker of epoch 1, with the epoch 0 of"
    " its last record.",
    source=JAVADOC + "; KafkaConsumer.position has no epoch",
    expects={"committed_epoch_stale": VIOLATION, "offsets_without_output": NONE},
)
def position_is_paired_with_the_last_records_epoch(h: History) -> None:
    _copied_below_a_marker(h, 51)


@asks(
    "An application stores its last record's offset + 1 and epoch 0, below a marker of epoch 1.",
    source=JAVADOC + "; KafkaProducer.sendOffsetsToTransaction: lastProcessedMessageOffset + 1",
    expects={
        "committed_epoch_stale": NONE,
        "committed_epoch_missing": NONE,
        "committed_epoch_behind_leader": PERMITTED,
        "commit_beyond_processed": NONE,
    },
)
def last_record_is_paired_with_its_epoch(h: History) -> None:
    _copied_below_a_marker(h, 50)


@asks(
    "The offsets of a first transaction hold; those of a second one are aborted with its output.",
    source=TOGETHER,
    expects={
        "offsets_without_output": NONE,
        "output_without_offsets": NONE,
        "start_mismatch": NONE,
        "hanging_transaction": NONE,
    },
)
def second_transaction_is_aborted(h: History) -> None:
    _two(h, offsets="abort")


@asks(
    "The offsets of an aborted second transaction are committed; those of the first one hold too.",
    source=TOGETHER,
    expects={"offsets_without_output": VIOLATION, "output_without_offsets": NONE},
)
def offsets_of_the_second_transaction_hold(h: History) -> None:
    _two(h, offsets="commit")


@asks(
    "A transaction's answer was lost, its output is committed, no marker tells of its offsets.",
    source="contract/tables_of_clients.py: marker is null where none ends it; "
    "contract/outcomes.py: unknown leaves both possible",
    expects={
        "output_without_offsets": NOT_VIOLATION,
        "offsets_without_output": NOT_VIOLATION,
        "aborted_read": NONE,
    },
)
def marker_of_the_offsets_is_not_reported(h: History) -> None:
    _pipeline(h, output="commit", offsets="", answer="unknown")


def _input(h: History) -> None:
    h.topic("in")
    h.topic("t")
    h.group("g", "in", isolation="read_committed")
    plain(h, 9, topic="in")
    cluster(h)
    started(h, at=4.0, **Q)
    joined(h, 0, at=5.5, topic="in")
    h.polled(0, 9, at=6.0, topic="in")


def _pipeline(
    h: History,
    *,
    output: str | None,
    offsets: str | None,
    asked: bool = True,
    answer: str = "ok",
) -> None:
    """Ten records are read, five written, and the offset 10 stored, in one transaction.

    output, offsets: their markers; None: there are none; "": stored, and no marker is told.
    """
    _input(h)
    if output:
        h.sent(0, 4, at=8.0, producer="q", transaction=0)
        replicas(
            h,
            Batch(0, 4, pid=1, base_sequence=0, producer="q"),
            Batch(5, 5, pid=1, control=output),
        )
        watched(h, 1, 6, times=(25.0, 45.0, 65.0, 85.0))
    else:
        for broker in (1, 2):
            h.log(broker)
        watched(h, 1, 0, times=(25.0, 45.0, 65.0, 85.0))
    if offsets is not None:
        stored_in_transaction(h, 10, 0, at=10.0, marker=offsets or None, topic="in")
    if asked:
        step(h, "send_offsets", "offsets_sent", at=10.1, **Q)
    end = "abort" if output == offsets == "abort" else "commit"
    if answer == "unknown":
        error = "TimeoutException"
        step(h, end, "failed", at=20.0, took=8.0, outcome="unknown", error=error, **Q)
    else:
        step(h, end, "committed" if end == "commit" else "aborted", at=12.0, **Q)


def _two(h: History, *, offsets: str) -> None:
    """Transaction 0 processes 0 to 4 and holds; transaction 1 processes 5 to 9 and is aborted."""
    _input(h)
    h.sent(0, 4, at=8.0, producer="q", transaction=0)
    stored_in_transaction(h, 5, 0, at=9.0, marker="commit", topic="in")
    step(h, "send_offsets", "offsets_sent", at=9.1, **Q)
    step(h, "commit", "committed", at=10.0, **Q)
    step(h, "begin", "begun", at=11.0, transaction=1, **Q)
    h.sent(6, 10, at=12.0, producer="q", sequence=5, transaction=1)
    stored_in_transaction(h, 10, 0, at=13.0, marker=offsets, topic="in")
    step(h, "send_offsets", "offsets_sent", at=13.1, transaction=1, **Q)
    step(h, "abort", "aborted", at=14.0, transaction=1, **Q)
    replicas(
        h,
        Batch(0, 4, pid=1, base_sequence=0, producer="q"),
        Batch(5, 5, pid=1, control="commit"),
        Batch(6, 10, pid=1, base_sequence=5, producer="q", sequence=5),
        Batch(11, 11, pid=1, control="abort"),
    )
    watched(h, 1, 12, times=(25.0, 45.0, 65.0, 85.0))
    h.changed("revoked", at=30.0, position=10, topic="in")
    joined(h, 5 if offsets == "abort" else 10, at=40.0, member="2", generation=3, topic="in")
    if offsets == "abort":
        h.polled(5, 9, at=41.0, member="2", topic="in")


def _copied_below_a_marker(h: History, offset: int) -> None:
    """Records 0 to 49 are a transaction of epoch 0, whose marker at 50 is of epoch 1."""
    h.topic()
    h.group(isolation="read_committed")
    begun(h)
    h.sent(0, 49, at=2.0, transaction=0)
    watched(h, 1, 50, times=(5.0, 15.0))
    h.led(2, 1, at=20.0, isr=(1, 2), starts=50)
    watched(h, 2, 51, times=(25.0, 35.0, 45.0, 55.0, 65.0, 75.0), epoch=1)
    replicas(
        h, Batch(0, 49, pid=1, base_sequence=0), Batch(50, 50, epoch=1, pid=1, control="commit")
    )
    joined(h, 0, at=25.0)
    h.polled(0, 49, at=26.0)
    stored_in_transaction(h, offset, 0, at=40.0, marker="commit", pid=2)


@asks(
    "A transaction's offsets were committed, and its output has no marker at all.",
    source=TOGETHER,
    expects={"offsets_without_output": f"{UNDECIDED}: not ended"},
)
def offsets_hold_and_output_is_open(h: History) -> None:
    _pipeline(h, output="commit", offsets="commit")
    h.rows["replica_batches"] = [row for row in h.rows["replica_batches"] if not row["is_control"]]


@asks(
    "Offsets of an aborted transaction do not count: a new member begins before them again.",
    source=OFFSETS_TOO,
    expects={
        "offsets_without_output": NONE,
        "output_without_offsets": NONE,
        "start_mismatch": NONE,
        "nonmonotonic_poll": NONE,
        "skipped_record": NONE,
    },
)
def aborted_offsets_are_read_again(h: History) -> None:
    _processed(h, again_at=10)
    h.polled(10, 29, at=41.0, member="2", producer="s", topic="in")
    h.changed("caught_up", at=60.0, position=30, member="2", generation=3, topic="in")


@asks(
    "A new member begins at the offsets of an aborted transaction.",
    source=OFFSETS_TOO + "; OffsetMetadataManager drops pending offsets at an abort marker",
    expects={"start_mismatch": VIOLATION, "offsets_without_output": NONE},
)
def aborted_offsets_are_where_the_next_begins(h: History) -> None:
    _processed(h, again_at=20)
    h.polled(20, 29, at=41.0, member="2", producer="s", topic="in")
    h.changed("caught_up", at=60.0, position=30, member="2", generation=3, topic="in")


def _processed(h: History, *, again_at: int) -> None:
    """A group copies 0 to 9 in a committed transaction, and 10 to 19 in one that is aborted."""
    h.topic("in")
    h.group(topic="in")
    h.topic("out")
    for topic in ("in", "out"):
        cluster(h, topic=topic)
        h.sampled(1, at=1.0, end=0, isr=(1, 2), topic=topic)
    h.sent(0, 29, at=2.0, producer="s", topic="in")
    watched(h, 1, 30, topic="in")
    watched(h, 1, 22, topic="out", times=(35.0, 65.0, 85.0))
    copies(h, (1, 2), (0, 29, 0), producers={0: "s"}, topic="in", high_watermark=30)
    replicas(
        h,
        Batch(0, 9, pid=1, base_sequence=0),
        Batch(10, 10, pid=1, control="commit"),
        Batch(11, 20, pid=1, base_sequence=10, sequence=10),
        Batch(21, 21, pid=1, control="abort"),
        topic="out",
    )
    h.stored(0, -1, at=2.5, topic="in", brokers=(1, 2))
    joined(h, 0, at=5.0, topic="in")
    started(h, at=5.5)
    _copied(h, 0, at=7.0, marker="commit", offset=0)
    step(h, "begin", "begun", at=11.0, transaction=1)
    _copied(h, 1, at=13.0, marker="abort", offset=11)
    left(h, 20, at=25.0, topic="in")
    joined(h, again_at, at=40.0, member="2", generation=3, topic="in")


def _copied(h: History, number: int, *, at: float, marker: str, offset: int) -> None:
    """Ten records are read, written as ten values, and their offsets sent; then it is ended."""
    first = 10 * number
    h.polled(first, first + 9, at=at - 0.5, producer="s", topic="in")
    h.sent(offset, offset + 9, at=at, sequence=first, topic="out", transaction=number)
    step(h, "send_offsets", "offsets_sent", at=at + 1, transaction=number)
    stored_in_transaction(h, first + 10, 0, at=at + 1, marker=marker, topic="in")
    ends = ("commit", "committed") if marker == "commit" else ("abort", "aborted")
    step(h, *ends, at=at + 2, transaction=number)
