"""Findings about records in a row and apart, between those of other partitions and groups."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from tests.exam.history import PERMITTED, UNDECIDED, VIOLATION, History, asks
from tests.exam.scenes import copies
from tests.exam.transaction_verbs import began_transaction, step
from tests.exam.verbs import cluster, joined

PLACES: tuple[tuple[dict[str, Any], str], ...] = (
    ({"topic": "t", "partition": 0}, "g"),
    ({"topic": "t", "partition": 1}, "g"),
    ({"topic": "t", "partition": 0}, "k"),
    ({"topic": "u", "partition": 0}, "g"),
)
"""Partitions and their readers."""
LOGS = tuple(where for where, group in PLACES if group == "g")
IN_A_ROW_AND_APART = (5, 6, 7, 10, 12)
BETWEEN = (6, 8, 9, 11)
"""Offsets of the other places: one span begins within one of the first place, one between two."""
END = 16
OFFSETS = "__consumer_offsets"


def several(h: History, *, isolation: str = "read_uncommitted") -> None:
    """Two topics, of two partitions and of one; one group reads both, another one reads `t`."""
    h.topic(partitions=2)
    h.topic("u")
    for group, topic in (("g", "t"), ("k", "t"), ("g", "u")):
        h.group(group, topic, isolation=isolation)
    for where in LOGS:
        cluster(h, **where)


def sent(h: History, **send: Any) -> None:
    """One producer sends all records of the three logs, at second 8."""
    for number, where in enumerate(LOGS):
        h.sent(0, END - 1, at=8.0, sequence=number * END, **where, **send)


def delivered(h: History, *, at: float = 20.0, **poll: Any) -> None:
    """Each group gets some records, one a poll."""
    for where, group, offset, sequence, second in records(at):
        h.polled(offset, at=second, sequence=sequence, group=group, **where, **poll)


def stored(h: History, *, lacks_records: bool = False) -> None:
    """Both replicas hold the records, or all but those in question."""
    for number, where in enumerate(LOGS):
        lacking = in_question(PLACES.index((where, "g"))) if lacks_records else ()
        spans = [(first, last, 0) for first, last in others_than(lacking)]
        sequences = {first: number * END + first for first, _, _ in spans}
        h.sampled(1, at=9.0, end=END, isr=(1, 2), **where)
        copies(h, (1, 2), *spans, sequences=sequences, high_watermark=END, end=END, **where)


def in_question(place: int) -> tuple[int, ...]:
    """The offsets of a place."""
    return BETWEEN if place else IN_A_ROW_AND_APART


def others_than(offsets: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The first and last offset of each range between some."""
    for before, after in pairwise((-1, *offsets, END)):
        if after - before > 1:
            yield before + 1, after - 1


def records(at: float) -> Iterator[tuple[dict[str, Any], str, int, int, float]]:
    """Partition, group, offset, sequence and second of each record in question."""
    for number, (where, group) in enumerate(PLACES):
        for offset in in_question(number):
            sequence = LOGS.index(where) * END + offset
            yield where, group, offset, sequence, at + number + offset / 10


@asks(
    "Corrupted records are in a row and apart, between others of a partition, a topic and a group.",
    source="contract/events.py: the checksum is part of the value",
    expects={"corrupted_record": f"{VIOLATION}: corrupted: the value's checksum does not match"},
)
def corrupted_records_lie_between_others(h: History) -> None:
    several(h)
    delivered(h, is_intact=False)


@asks(
    "Aborted records are delivered in a row and apart, between others of a partition, a topic and "
    "a group.",
    source="isolation.level=read_committed: only transactions that were committed are given out",
    expects={
        "aborted_read": f"{VIOLATION}: aborted: 3 values of transaction 0",
        "phantom_record": "none",
    },
)
def aborted_records_lie_between_others(h: History) -> None:
    several(h, isolation="read_committed")
    began_transaction(h, at=5.0)
    sent(h, transaction=0)
    step(h, "abort", "aborted", at=10.0)
    delivered(h)


@asks(
    "Values that nobody sent are delivered in a row and apart, between others of a partition, a "
    "topic and a group; and one that was sent to another topic.",
    source="contract/events.py: SendsIntended is written before the values are sent",
    expects={"phantom_record": f"{VIOLATION}: phantom: no producer intended this value"},
)
def unsent_values_lie_between_others(h: History) -> None:
    several(h)
    delivered(h, producer="stranger")
    h.sent(0, at=8.0)
    h.polled(0, at=30.0, topic="u")


@asks(
    "Records are delivered again in a row and apart, between others of a partition, a topic and a "
    "group.",
    source="Kafka's documentation, Message Delivery Semantics: delivery is at least once",
    expects={
        "duplicate_delivery": f"{PERMITTED}: redelivered: at-least-once delivery",
        "reprocessing_amplification": f"{PERMITTED}: whole run",
    },
)
def records_delivered_again_lie_between_others(h: History) -> None:
    several(h)
    sent(h)
    delivered(h)
    delivered(h, at=40.0, member="2")


@asks(
    "Sends that failed are in the log in a row and apart, between others of a partition and a "
    "topic.",
    source="RecordTooLargeException: refused before the append; TimeoutException: either",
    expects={
        "outcome_mismatch": f"{UNDECIDED}: may be written: client of producer",
    },
)
def failed_sends_lie_between_others(h: History) -> None:
    several(h)
    stored(h)
    failed = {"outcome": "failed", "error": "TimeoutException"}
    for where, group, _, sequence, second in records(8.0):
        if group == "g":
            h.sent(None, at=second, sequence=sequence, **where, **failed)


@asks(
    "A group is not given records in a row and apart, between others of a partition, a topic and a "
    "group.",
    source="KafkaConsumer: the position is one more than the offset of the last record given out",
    expects={
        "skipped_record": f"{VIOLATION}: skipped without an error: neither a truncation",
        "poll_skip": f"{VIOLATION}: between polls",
        "divergent_readers": f"{VIOLATION}: delivered to one",
    },
)
def skipped_records_lie_between_others(h: History) -> None:
    several(h)
    sent(h)
    stored(h)
    for group, topic, partitions in (("g", "t", (0, 1)), ("k", "t", (0,)), ("g", "u", (0,))):
        joined(h, 0, at=15.0, group=group, topic=topic, partitions=partitions)
    for number, (where, group) in enumerate(PLACES):
        for first, last in others_than(in_question(number)):
            sequence = LOGS.index(where) * END + first
            h.polled(first, last, at=20.0 + first, sequence=sequence, group=group, **where)
        h.changed("caught_up", at=40.0, position=END, group=group, **where)


@asks(
    "Two members of a group are reset twice each, and so are those of another partition, topic and "
    "group, from the same offset at the same time.",
    source="KIP-320: a position is that of one partition; auto.offset.reset",
    expects={
        "reset": f"{PERMITTED}: out_of_range: out_of_range: from 4 to 10 (policy latest)",
    },
)
def resets_lie_between_others(h: History) -> None:
    several(h)
    sent(h)
    stored(h)
    for where, group in PLACES:
        for member in ("1", "2"):
            h.changed("opened", at=14.5, member=member, group=group)
            for at, to in ((20.0, 10), (40.0, 13)):
                h.reset(
                    "out_of_range",
                    4,
                    to,
                    at=at,
                    policy="latest",
                    member=member,
                    group=group,
                    **where,
                )
        h.polled(0, 3, at=15.0, sequence=LOGS.index(where) * END, group=group, **where)
        h.polled(13, 15, at=50.0, sequence=LOGS.index(where) * END + 13, group=group, **where)


@asks(
    "Records are delivered again while faults hold, from the moment of one delivery up to that of "
    "another one; two faults begin at one time, and while one holds a record is new.",
    source="Kafka's documentation, Message Delivery Semantics: delivery is at least once",
    expects={
        "reprocessing_amplification": f"{PERMITTED}: while a fault held: 1 of 1 deliveries",
    },
)
def records_are_delivered_again_while_faults_hold(h: History) -> None:
    several(h)
    sent(h)
    delivered(h)
    delivered(h, at=40.0, member="2")
    h.polled(0, at=40.9, member="2")
    for fault, broker, injected, healed in (
        ("pause", 1, 20.6, 41.2),
        ("pause", 1, 40.8, 41.0),
        ("pause", 1, 41.0, 41.2),
        ("pause", 2, 40.6, 43.8),
        ("kill", 1, 40.6, 43.8),
    ):
        h.fault(fault, h.on_broker(broker), injected=injected, healed=healed)


@asks(
    "Commits of one group wait at once, and one after another without an answer between, 30 s of "
    "it while there is a coordinator; those of another one are answered between; one of a third "
    "one waits 30.5 s.",
    source="CoordinatorRuntime: a response waits until the records of its write are committed; "
    "decision 8; docs/findings.md, commit_unavailable: an outage is a time in which nobody was "
    "answered",
    expects={
        "commit_unavailable": f"{VIOLATION}: unavailable: operations that waited: 1; "
        "for 30.5 s in total, 30.5 s of it while the brokers could serve",
    },
)
def commits_of_several_groups_wait(h: History) -> None:
    several(h)
    h.group("m")
    for group in ("g", "k", "m"):
        h.commit(1, 0, at=5.0, group=group)
    for at, leader, epoch in ((0.6, 2, 0), (22, -1, 1), (26, 2, 2), (38, -1, 3), (39, 2, 4)):
        h.led(leader, epoch, at=at, isr=(2,), replicas=(2,), topic=OFFSETS, partition=h.index)
    waits: dict[str, tuple[tuple[float, float], ...]] = {
        "g": ((20, 24), (23, 28), (35, 40), (50, 55), (66, 69)),
        "k": ((20, 24), (30, 34), (36, 39), (42, 45), (70, 80), (71, 74), (78, 82)),
        "m": ((20, 24), (45, 46.9), (47, 49), (60, 90.5)),
    }
    # A rebalance is an answer: in part while the next commit, or the one before, waits.
    rebalances = ((25, 30), (31, 33), (35, 40), (75, 76))
    for group, times in waits.items():
        for began, ended in times:
            commits(h, group, began, ended, outcome="unknown", error="TimeoutException")
    for began, ended in rebalances:
        commits(h, "k", began, ended, outcome="unknown", error="RebalanceInProgressException")
    commits(h, "k", 60, 64, outcome="nothing")


def commits(h: History, group: str, began: float, ended: float, **answer: Any) -> None:
    """A commit that is not stored."""
    h.commit(2, 0, at=ended, group=group, stored=False, **answer)
    h.rows["commits"][-1]["began_micros"] = h.at(began)


@asks(
    "A commit's epoch is gone from the leader's epochs in one partition, and still there in those "
    "of another partition and topic; another group has committed the next epoch.",
    source="LeaderEpochFileCache.truncateFromStartAsyncFlush: a deletion removes an epoch once a "
    "newer one starts at or below the log start",
    expects={
        "committed_epoch_expired": f"{VIOLATION}: at an assignment: epoch 0 was committed; the "
        "oldest epoch left in the log was 1",
        "commit_expired": VIOLATION,
    },
)
def committed_epoch_expires_in_one_partition(h: History) -> None:
    several(h)
    sent(h)
    for number, where in enumerate(LOGS):
        start = 0 if number else 8
        h.sampled(1, at=9.0, end=END, **where)
        h.led(2, 1, at=20.0, isr=(1, 2), starts=8, **where)
        h.sampled(2, at=30.0, end=END, start=start, epoch=1, **where)
        kept = ((8, END - 1, 1),) if start else ((0, 7, 0), (8, END - 1, 1))
        sequences = {first: number * END + first for first, _, _ in kept}
        copies(h, (1, 2), *kept, start=start, sequences=sequences, high_watermark=END, **where)
    for where, group in PLACES:
        offset, epoch = (9, 1) if group == "k" else (5, 0)
        h.commit(offset, epoch, at=10.0, group=group, **where)
        h.changed("assigned", at=50.0, position=offset, group=group, **where)
        if group == "g" and where["partition"]:
            h.commit(END, 1, at=60.0, group=group, **where)


@asks(
    "A member is delivered records again in one session, twice the last of them; other members are "
    "given those of another partition, topic and group again.",
    source="KafkaConsumer: a position moves past each record that poll returns",
    expects={
        "duplicate_delivery": f"{VIOLATION}: within a session: delivered again in one session",
    },
)
def one_session_is_given_records_again(h: History) -> None:
    several(h)
    sent(h)
    delivered(h)
    for where, group, offset, sequence, second in records(40.0):
        member = "1" if (where, group) == PLACES[0] else "2"
        h.polled(offset, at=second, sequence=sequence, group=group, member=member, **where)
    h.polled(IN_A_ROW_AND_APART[-1], at=50.0)
