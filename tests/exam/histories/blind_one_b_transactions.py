"""Transactions and retries: late writes and answers, zombies, markers, offsets that are sent."""

from tests.exam.history import (
    NONE,
    NOT_VIOLATION,
    PERMITTED,
    UNDECIDED,
    VIOLATION,
    History,
    asks,
)
from tests.exam.scenes import copies
from tests.exam.transaction_verbs import (
    Batch,
    replica,
    replicas,
    started,
    step,
    stored_in_transaction,
    written,
)
from tests.exam.verbs import begun, cluster, joined, left, watched

KIP_890 = "KIP-890, Motivation: a late batch after the marker of its transaction"
BUMPED = "KIP-890, Proposed Changes: the producer epoch is raised at each end of a transaction"
FENCING = "KIP-98, section Transaction Coordinator: a newer instance fences the older one"
LSO = "KIP-98 and isolation.level: read_committed ends at the last stable offset"
OFFSETS_TOO = "KIP-98, sendOffsetsToTransaction: offsets are committed with the transaction or not"
RETRIES = "ProducerStateManager: an append with a known sequence number is answered, not repeated"


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


@asks(
    "A read_committed group waits at a transaction of another producer that stays open for 45 s.",
    source=LSO,
    expects={
        "stuck_consumer": PERMITTED,
        "poll_skip": NONE,
        "precommitted_read": NONE,
        "hanging_transaction": NONE,
    },
)
def committed_values_lie_behind_an_open_transaction(h: History) -> None:
    _behind_another(h, aborted=50.0, isolation="read_committed")


@asks(
    "A read_uncommitted group stalls at the same transaction.",
    source="isolation.level=read_uncommitted: all records up to the high watermark are returned",
    expects={"stuck_consumer": VIOLATION},
)
def open_transaction_excuses_no_uncommitted_reader(h: History) -> None:
    _behind_another(h, aborted=50.0, isolation="read_uncommitted")


@asks(
    "A read_committed group stalls 30 s after the transaction had ended in the log.",
    source=LSO + ", and that had moved on at the marker",
    expects={"stuck_consumer": VIOLATION, "hanging_transaction": NONE},
)
def ended_transaction_excuses_no_stall(h: History) -> None:
    _behind_another(h, aborted=15.0, isolation="read_committed")


def _behind_another(h: History, *, aborted: float, isolation: str) -> None:
    """`p` writes 0 to 4 and aborts late; `q` commits 5 to 9. A group stalls at 0 at second 45."""
    written(
        h,
        Batch(0, 4, pid=1, base_sequence=0),
        Batch(5, 9, pid=2, base_sequence=0, producer="q", sequence=0),
        Batch(10, 10, pid=2, control="commit", at=10.0),
        Batch(11, 11, pid=1, control="abort", at=aborted),
        isolation=isolation,
        times=(55.0, 65.0, 75.0, 85.0),
    )
    started(h, at=4.0)
    h.sent(0, 4, at=5.0, transaction=0)
    started(h, at=6.0, pid=2, producer="q", transactional_id="y")
    h.sent(5, 9, at=8.0, producer="q", sequence=0, transaction=0)
    step(h, "commit", "committed", at=10.0, pid=2, producer="q", transactional_id="y")
    watched(h, 1, 11 if aborted > 45 else 12, times=(16.0, 30.0, 44.0))
    step(h, "abort", "aborted", at=aborted)
    joined(h, 0, at=12.0)
    h.changed("stalled", at=45.0, position=0, generation=1)
    if isolation == "read_uncommitted":
        h.polled(0, 4, at=52.0)
    h.polled(5, 9, at=52.1, producer="q", sequence=0)
    h.changed("caught_up", at=60.0, position=12, generation=1)
    left(h, 12, at=80.0)


@asks(
    "A producer stops in a transaction; its successor is initialized, and no marker is there.",
    source="KIP-98, InitPidRequest: an open transaction of the transactional.id is ended first",
    expects={"hanging_transaction": VIOLATION, "aborted_read": NONE},
)
def successor_leaves_the_transaction_open(h: History) -> None:
    written(h, Batch(0, 4, pid=1, base_sequence=0))
    started(h, at=15.0)
    h.sent(0, 4, at=18.0, transaction=0)
    started(h, at=40.0, pid_epoch=2, producer="q")


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


@asks(
    "A later leader appends again what the one before it had appended under one producer epoch.",
    source=RETRIES + "; the producer's state is replicated with the log",
    expects={"duplicate_append": VIOLATION, "lost_record": NONE, "leader_completeness": NONE},
)
def new_leader_forgets_a_sequence_number(h: History) -> None:
    _appended_twice(h, Batch(5, 9, epoch=1, pid=1, base_sequence=0, sequence=0))


def _appended_twice(h: History, again: Batch) -> None:
    """An idempotent producer repeats a batch whose response was lost."""
    h.topic()
    h.group()
    begun(h)
    watched(h, 1, 5, times=(8.0,))
    if again.epoch:
        h.led(2, 1, at=9.0, isr=(1, 2), starts=5)
    leader = 2 if again.epoch else 1
    watched(h, leader, 10, times=(15.0, 45.0, 85.0), epoch=again.epoch)
    first = Batch(0, 4, pid=1, base_sequence=0, is_transactional=False)
    plain_again = Batch(**(vars(again) | {"is_transactional": False}))
    replicas(h, first, plain_again)
    h.sent(5, 9, at=12.0, intended_at=6.0, sequence=0, is_idempotent=True, in_flight_max=5)
    joined(h, 0, at=20.0)
    h.polled(0, 4, at=21.0)
    h.polled(5, 9, at=21.1, sequence=0, epoch=again.epoch)
    h.changed("caught_up", at=40.0, position=10, generation=1)
    left(h, 10, at=80.0)


@asks(
    "A send is appended, its response is lost, and the retry is refused by a small ISR.",
    source="ReplicaManager.appendRecords: the refused attempt may follow one that was appended",
    expects={"outcome_mismatch": UNDECIDED, "phantom_record": NONE, "min_insync_breached": NONE},
)
def refusal_follows_an_append(h: History) -> None:
    h.topic(min_insync=2)
    h.group()
    begun(h)
    h.sent(0, 9, at=2.0)
    h.led(1, 0, at=6.0, isr=(1,))
    h.sent(
        None,
        at=12.0,
        intended_at=5.0,
        sequence=10,
        outcome="failed",
        error="NotEnoughReplicasException",
    )
    h.led(1, 0, at=14.0, isr=(1, 2))
    watched(h, 1, 11, times=(15.0, 45.0, 85.0))
    copies(h, (1, 2), (0, 9, 0), (10, 10, 0), high_watermark=11)
    joined(h, 0, at=20.0)
    h.polled(0, 10, at=21.0)
    h.changed("caught_up", at=40.0, position=11, generation=1)
    left(h, 11, at=80.0)


@asks(
    "An unclean election takes a commit marker; the abort of the next transaction ends the writes.",
    source="unclean.leader.election.enable: the marker is lost like any record; KIP-98",
    expects={
        "misapplied_marker": PERMITTED,
        "aborted_read": PERMITTED,
        "lost_record": NONE,
        "hanging_transaction": NOT_VIOLATION,
    },
)
def unclean_election_takes_the_marker_alone(h: History) -> None:
    h.topic(unclean_election=True)
    h.group(isolation="read_committed")
    begun(h)
    started(h, at=2.0)
    h.sent(0, 4, at=4.0, transaction=0)
    watched(h, 1, 5, times=(5.0,))
    h.led(1, 0, at=8.0, isr=(1,))
    step(h, "commit", "committed", at=10.0)
    watched(h, 1, 6, times=(12.0, 18.0), isr=(1,))
    joined(h, 0, at=11.0)
    h.polled(0, 4, at=13.0)
    left(h, 6, at=17.0)
    _broker_1_is_replaced(h)
    h.cut(1, 5, 5, 0, at=38.5, is_control=True)
    step(h, "begin", "begun", at=29.0, transaction=1)
    h.sent(5, 9, at=30.0, sequence=5, transaction=1)
    step(h, "abort", "aborted", at=32.0, transaction=1)
    for broker in (1, 2):
        replica(
            h,
            broker,
            Batch(0, 4, pid=1, base_sequence=0),
            Batch(5, 9, epoch=1, pid=1, base_sequence=5, sequence=5),
            Batch(10, 10, epoch=1, pid=1, control="abort"),
        )


def _broker_1_is_replaced(h: History) -> None:
    """Broker 2 is elected at second 24 with five records; broker 1 is back at second 40."""
    name = h.on_broker(1)
    h.fault("kill", name, injected=20.0, proved=23.0, heal_began=38.0, healed=40.0)
    h.registered(1, at=23.0, is_fenced=True)
    h.led(2, 1, at=24.0, isr=(2,), starts=5)
    watched(h, 2, 11, times=(35.0, 39.0), epoch=1, isr=(2,))
    h.registered(1, at=39.0, is_fenced=False, broker_epoch=2)
    h.truncated(1, 5, at=41.0)
    h.led(2, 1, at=45.0, isr=(1, 2))
    watched(h, 2, 11, times=(55.0, 85.0), epoch=1)
