"""Markers of transactions that an election removed after a group had passed and committed them."""

from typing import Any

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
from tests.exam.transaction_verbs import Batch, described, replica, replicas, started, step
from tests.exam.verbs import begun, cluster, joined, left, watched

LOSES = (
    "Kafka's documentation, unclean.leader.election.enable: may result in data loss; a marker is a"
    " record of the partition (KIP-98)"
)
MARKER = "KIP-664: a transaction that no marker ends holds the last stable offset"
THEN = "OffsetAndMetadata.leaderEpoch: the epoch of the record consumed before"
BY_ELECTION = {
    "hanging_transaction": PERMITTED,
    "commit_beyond_processed": PERMITTED,
    "committed_epoch_stale": PERMITTED,
    "orphan_commit": PERMITTED,
    "history_consistent": NONE,
    "torn_transaction": NONE,
    "aborted_read": NONE,
    "misapplied_marker": NONE,
}


@asks(
    "A group commits the offset behind a commit marker; an unclean election removes the marker.",
    source=LOSES,
    expects=BY_ELECTION | {"commit_beyond_log": NOT_VIOLATION},
)
def marker_is_lost_after_it_was_passed(h: History) -> None:
    _lost(h)


@asks(
    "The same, and no report of the leader shows how far the log reached.",
    source=LOSES,
    expects=BY_ELECTION | {"commit_beyond_log": PERMITTED},
)
def marker_is_lost_and_was_never_reported(h: History) -> None:
    _lost(h, reported=False)


@asks(
    "The leader had reported the marker before the commit, and reported nothing more.",
    source="UnifiedLog.maybeIncrementHighWatermark: it does not fall within an epoch",
    expects={"commit_beyond_log": NONE},
)
def earlier_report_shows_the_marker(h: History) -> None:
    _lost(h, reported=False)
    h.sampled(1, at=10.5, end=6, isr=(1,))


@asks(
    "An abort marker is lost after a group has passed it.",
    source=LOSES,
    expects=BY_ELECTION,
)
def abort_marker_is_lost_after_it_was_passed(h: History) -> None:
    _lost(h, marker="abort")


@asks(
    "An unclean election removes a commit marker and the second half of its transaction.",
    source=LOSES,
    expects=BY_ELECTION | {"lost_record": PERMITTED},
)
def half_of_a_transaction_is_lost_with_its_marker(h: History) -> None:
    _lost(h, survives=3)


@asks(
    "The commit is answered 0.5 s before the leader dies, and its marker with it.",
    source=LOSES + "; TransactionCoordinator.endTransaction: answered before the markers are sent",
    expects={"hanging_transaction": PERMITTED, "misapplied_marker": NONE, "lost_record": NONE},
)
def marker_is_written_just_before_its_leader_dies(h: History) -> None:
    _lost(h, committed=19.5, read=False)


@asks(
    "Nobody writes after the unclean election: the log ends where the marker was.",
    source=LOSES,
    expects=BY_ELECTION | {"commit_beyond_processed": NONE, "committed_epoch_stale": NONE},
)
def log_ends_where_the_marker_was(h: History) -> None:
    _lost(h, written=0)


@asks(
    "A second clean election follows, and the record in the marker's place is of its epoch.",
    source=LOSES,
    expects=BY_ELECTION,
)
def clean_election_follows_the_one_that_loses(h: History) -> None:
    _lost(h, then_clean=True)


@asks(
    "The producer aborts its next transaction: the abort marker ends what it had committed, too.",
    source=LOSES + "; KIP-98: a marker ends all that is open of its producer id",
    expects={
        "misapplied_marker": PERMITTED,
        "aborted_read": PERMITTED,
        "torn_transaction": PERMITTED,
        "hanging_transaction": NONE,
    },
)
def next_abort_ends_what_lost_its_marker(h: History) -> None:
    _aborted_next(h)


@asks(
    "The same, and the election was clean.",
    source="KAFKA-17754: an abort marker must not end another transaction",
    expects={
        "misapplied_marker": VIOLATION,
        "aborted_read": VIOLATION,
        "torn_transaction": VIOLATION,
    },
)
def next_abort_ends_it_after_a_clean_election(h: History) -> None:
    _aborted_next(h, unclean=False)


def _aborted_next(h: History, *, unclean: bool = True) -> None:
    """Transaction 1 writes 5 to 9 under epoch 1 and is aborted; a group reads after that."""
    _lost(h, written=0, unclean=unclean)
    h.group("late", isolation="read_committed")
    step(h, "begin", "begun", at=29.0, transaction=1)
    h.sent(5, 9, at=30.0, transaction=1)
    step(h, "abort", "aborted", at=31.0, transaction=1)
    for table in ("replica_records", "replica_batches", "log_starts", "epoch_checkpoints"):
        h.rows[table].clear()
    h.rows["samples"] = [row for row in h.rows["samples"] if row["at_micros"] < h.at(30)]
    watched(h, 2, 14, times=(35.0, 85.0), epoch=1, isr=(1, 2))
    h.sent(11, 13, at=32.0, producer="q", sequence=0)
    replicas(
        h,
        Batch(0, 4, pid=1, base_sequence=0),
        Batch(5, 9, epoch=1, pid=1, base_sequence=5),
        Batch(10, 10, epoch=1, pid=1, control="abort"),
        Batch(11, 13, epoch=1, producer="q", sequence=0),
    )
    joined(h, 0, at=60.0, group="late")
    h.polled(11, 13, at=61.0, epoch=1, producer="q", sequence=0, group="late")
    h.changed("caught_up", at=62.0, position=14, group="late", generation=1)


@asks(
    "The election that removes the marker is clean.",
    source="Kafka's documentation, Replication: a clean election loses no committed record",
    expects={
        "hanging_transaction": VIOLATION,
        "orphan_commit": VIOLATION,
        "leader_completeness": VIOLATION,
        "commit_beyond_processed": UNDECIDED,
        "committed_epoch_stale": NONE,
    },
)
def clean_election_removes_a_marker(h: History) -> None:
    _lost(h, unclean=False)


@asks(
    "The unclean election came before the transaction, whose marker nobody ever wrote.",
    source=MARKER,
    expects={"hanging_transaction": f"{VIOLATION}: committed, never visible"},
)
def marker_is_missing_long_after_an_election(h: History) -> None:
    h.topic(unclean_election=True)
    cluster(h)
    h.led(1, 0, at=1.0, isr=(1,))
    h.led(2, 1, at=2.0, isr=(2,), starts=0)
    h.led(2, 1, at=3.0, isr=(1, 2))
    started(h, at=5.0)
    h.sent(0, 4, at=8.0, transaction=0)
    step(h, "commit", "committed", at=10.0)
    watched(h, 2, 5, times=(15.0, 45.0, 85.0), epoch=1)
    replicas(h, Batch(0, 4, epoch=1, pid=1, base_sequence=0))


NEVER = "KIP-664: a hanging transaction holds the last stable offset"


def _holds(h: History, *, isolation: str = "read_committed", position: int = 0) -> None:
    """A group is there from the start, and reads no further than to its position."""
    h.group("held", isolation=isolation)
    joined(h, 0, at=5.0, group="held")
    if position:
        h.polled(0, position - 1, at=12.5, group="held")
    h.changed("stalled", at=80.0, position=position, group="held", generation=1)


@asks_each(
    "An unclean election removes the marker of a transaction that was committed;",
    source=LOSES + "; " + NEVER,
    check="hanging_transaction",
    cases={
        "a read_committed group stands before it.": (
            f"{PERMITTED}: committed, never visible: groups that read no further: 1",
            {"position": 0},
        ),
        "a read_committed group had read it before.": (
            f"{PERMITTED}: committed, never visible: groups that read no further: 0",
            {"position": 5},
        ),
        "a group reads uncommitted values.": (
            f"{PERMITTED}: committed, never visible: groups that read no further: 0",
            {"position": 5, "isolation": "read_uncommitted"},
        ),
        "a group stands, and it was aborted.": (
            f"{PERMITTED}: ended without a marker",
            {"position": 0, "marker": "abort"},
        ),
    },
)
def committed_transaction_is_never_visible(
    h: History, *, position: int, isolation: str = "read_committed", marker: str = "commit"
) -> None:
    _lost(h, read=False, marker=marker)
    _holds(h, isolation=isolation, position=position)


WITHOUT = f"{PERMITTED}: at a transaction without a marker"


def _stands(h: History, *, at: float = 80.0, isolation: str = "read_committed") -> None:
    """Who reads committed values stands at the beginning."""
    h.group("held", isolation=isolation)
    joined(h, 0, at=26.0, group="held")
    h.changed("stalled", at=at, position=0, group="held", generation=1)


@asks_each(
    "A read_committed member stands at a transaction without a marker:",
    source=NEVER + "; TransactionCoordinator: CompleteCommit once the markers are written",
    check="stuck_consumer",
    cases={
        "an unclean election removed it after the producer's commit.": (
            f"{WITHOUT}: its producer had committed it (unclean election by configuration",
            {},
        ),
        "after the producer's abort.": (
            f"{WITHOUT}: its producer had aborted it",
            {"marker": "abort"},
        ),
        "a clean election removed it.": (
            f"{WITHOUT}: its producer had committed it; the log ends",
            {"unclean": False},
        ),
    },
)
def member_stands_where_a_marker_was_lost(h: History, **given: Any) -> None:
    _lost(h, read=False, **given)
    _stands(h)


@asks_each(
    "The producer got no response to its commit. Of the transaction, whose marker is missing, the"
    " coordinator reports",
    source="KIP-664; DescribeTransactions: the state of the transactional.id",
    check="stuck_consumer",
    cases={
        "CompleteCommit, before a member stands at it.": (
            {
                "stuck_consumer": f"{WITHOUT}: its coordinator reported the state CompleteCommit"
                " (unclean election",
                "hanging_transaction": PERMITTED,
            },
            {"state": "CompleteCommit"},
        ),
        "Ongoing.": (f"{PERMITTED}: at an open transaction", {"state": "Ongoing"}),
        "CompleteCommit, but after the member had stood there.": (
            f"{PERMITTED}: at an open transaction",
            {"state": "CompleteCommit", "stood": 62.0},
        ),
    },
)
def coordinator_tells_of_a_transaction(h: History, *, state: str, stood: float = 80.0) -> None:
    _lost(h, read=False, outcome="unknown")
    described(h, state, at=65.0)
    _stands(h, at=stood)


@asks(
    "Another producer of the transactional.id is initialized; a member stands at what it left.",
    source="KIP-98, InitProducerId: an open transaction of the transactional.id is ended first",
    expects={
        "stuck_consumer": f"{WITHOUT}: another producer of its transactional.id had been init"
    },
)
def another_producer_was_initialized(h: History) -> None:
    _lost(h, read=False, outcome="unknown")
    step(
        h, "initialize", "initialized", at=40.0, transaction=None, producer="r", pid=1, pid_epoch=1
    )
    _stands(h)


@asks(
    "A clean election removes the marker of a committed transaction, and a group stands before it.",
    source="Kafka's documentation, Replication: a clean election loses no committed record; "
    + NEVER,
    expects={"hanging_transaction": f"{VIOLATION}: committed, never visible: read no further: 1"},
)
def clean_election_hides_a_committed_transaction(h: History) -> None:
    _lost(h, read=False, unclean=False)
    _holds(h)


@asks(
    "A transaction ends 25 s before an unclean election that keeps what was written 12 s after it.",
    source=MARKER,
    expects={"hanging_transaction": VIOLATION, "lost_record": NONE},
)
def election_keeps_where_the_marker_had_to_be(h: History) -> None:
    h.topic(unclean_election=True)
    cluster(h)
    started(h, at=1.0)
    h.sent(0, 4, at=2.0, transaction=0)
    step(h, "commit", "committed", at=3.0)
    h.sent(5, 9, at=15.0, producer="q", sequence=0)
    watched(h, 1, 10, times=(16.0, 20.0))
    h.led(1, 0, at=22.0, isr=(1,))
    h.led(2, 1, at=28.0, isr=(2,), starts=10)
    h.led(2, 1, at=30.0, isr=(1, 2))
    watched(h, 2, 10, times=(35.0, 85.0), epoch=1)
    replicas(h, Batch(0, 4, pid=1, base_sequence=0), Batch(5, 9, producer="q", sequence=0))


@asks(
    "A commit goes past a record that the group never got; an unclean election removes later ones.",
    source="KafkaConsumer.commitSync: the offset of the next record to be consumed",
    expects={"commit_beyond_processed": VIOLATION},
)
def election_excuses_no_commit_below_it(h: History) -> None:
    _lost(h, read=False, isolation="read_uncommitted")
    joined(h, 0, at=11.0)
    h.commit(3, 0, at=13.0, brokers=(1, 2), generation=1)


@asks(
    "A commit has epoch 0 behind a record of epoch 1 that was there; a later election is unclean.",
    source=THEN,
    expects={"committed_epoch_stale": VIOLATION},
)
def later_election_excuses_no_stale_epoch(h: History) -> None:
    _lost(h)
    h.commit(10, 0, at=50.0, member="2", record_epoch=1, brokers=(1, 2))
    h.led(2, 1, at=55.0, isr=(2,))
    h.led(1, 2, at=56.0, isr=(1,), starts=15)


@asks(
    "A commit lies beyond the log's end, as the next report shows; an unclean election follows.",
    source="KIP-320: a position that no broker handed out can only be validated by accident",
    expects={"commit_beyond_log": VIOLATION},
)
def later_election_excuses_no_commit_beyond_the_end(h: History) -> None:
    _lost(h, read=False)
    joined(h, 0, at=11.0)
    h.commit(9, 0, at=12.0, brokers=(1, 2), generation=1)


def _lost(
    h: History,
    *,
    survives: int = 5,
    marker: str = "commit",
    committed: float = 10.0,
    written: int = 10,
    unclean: bool = True,
    reported: bool = True,
    read: bool = True,
    then_clean: bool = False,
    isolation: str = "read_committed",
    outcome: str = "ok",
) -> None:
    """Offsets 0 to 4 are a transaction and 5 its marker, which broker 2 lacks.

    Broker 2 has what is below `survives` and leads epoch 1 from 24 s on; `written` plain records
    follow at 30 s. A group was delivered the transaction, and committed 6, at 12 s.
    """
    h.topic(unclean_election=True)
    h.group(isolation=isolation)
    begun(h)
    started(h, at=5.0)
    h.sent(0, 4, at=8.0, transaction=0)
    isr = (1,) if unclean else (1, 2)
    if unclean:
        h.led(1, 0, at=9.0, isr=isr)
    ended = "committed" if marker == "commit" else "aborted"
    step(h, marker, ended, at=committed, outcome=outcome)
    if reported:
        watched(h, 1, 6, times=(14.0, 18.0), isr=isr)
    name = h.on_broker(1)
    h.fault("kill", name, injected=20.0, proved=23.0, heal_began=38.0, healed=40.0)
    h.registered(1, at=23.0, is_fenced=True)
    h.led(2, 1, at=24.0, isr=(2,), starts=survives)
    first = survives
    batches = [Batch(0, survives - 1, pid=1, base_sequence=0)]
    epoch = 1
    if then_clean:
        epoch = 2
        h.led(2, 2, at=27.0, isr=(2,), starts=survives)
    end = first + written
    if written:
        h.sent(first, end - 1, at=30.0, producer="q", sequence=0)
        batches.append(Batch(first, end - 1, epoch=epoch, producer="q", sequence=0))
    watched(h, 2, end, times=(35.0, 39.0), epoch=epoch, isr=(2,))
    h.registered(1, at=39.0, is_fenced=False, broker_epoch=2)
    h.truncated(1, survives, at=41.0)
    h.led(2, epoch, at=45.0, isr=(1, 2))
    watched(h, 2, end, times=(55.0, 85.0), epoch=epoch)
    replicas(h, *batches)
    if not written:
        where = {"broker": h.broker(2), "topic": h.own("t"), "partition": 0}
        h.add("epoch_checkpoints", **where, leader_epoch=1, start_offset=survives)
    if read:
        joined(h, 0, at=10.6)
        if marker == "commit":
            h.polled(0, 4, at=11.0)
        h.changed("caught_up", at=11.5, position=6, generation=1)
        h.commit(6, 0, at=12.0, brokers=(1, 2), generation=1)
        h.changed("closed", at=13.0)


@asks(
    "The commit marker of one of two partitions is lost by an unclean election; there the abort of "
    "the next transaction ends its writes.",
    source=LOSES + "; KIP-98: a marker ends all that is open of its producer id",
    expects={"misapplied_marker": PERMITTED},
)
def lost_marker_of_one_of_two_partitions(h: History) -> None:
    _aborted_next(h)
    h.sent(0, at=8.5, transaction=0, partition=1, sequence=50)
    cluster(h, partition=1)
    watched(h, 1, 2, partition=1)
    replicas(
        h,
        Batch(0, 0, pid=1, base_sequence=0, sequence=50),
        Batch(1, 1, pid=1, control="commit"),
        partition=1,
    )


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
