"""Offsets of committed transactions that the log of the coordinators does not have, and why."""

from tests.exam.history import NONE, PERMITTED, UNDECIDED, VIOLATION, History, asks
from tests.exam.transaction_verbs import (
    Batch,
    replica,
    replicas,
    started,
    step,
    stored_in_transaction,
)
from tests.exam.verbs import cluster, joined, plain, watched

OFFSETS = "__consumer_offsets"
TOGETHER = "KIP-98, sendOffsetsToTransaction: offsets are part of the transaction"
LOSES = "ElectLeaders, type unclean (KIP-460): records that its leader lacks are lost"
COMPACTED = "Cleaner.shouldRetainRecord: compaction keeps the last record of a key"
OTHER = 100_000
"""A partition of `__consumer_offsets` of which no election is told."""
Q = {"producer": "q"}


@asks(
    "An ordered unclean election of the offsets partition loses a transaction's offsets.",
    source=LOSES,
    expects={"output_without_offsets": PERMITTED, "offsets_without_output": NONE},
)
def offsets_are_lost_by_an_ordered_election(h: History) -> None:
    _elected(h, at=20.0)
    _two(h, first=(1,), second=(2,))


@asks(
    "The same, and no replica has the offsets any more.",
    source=LOSES,
    expects={"output_without_offsets": PERMITTED},
)
def lost_offsets_are_on_no_replica(h: History) -> None:
    _elected(h, at=20.0)
    _two(h, first=None, second=(2,))


@asks(
    "The group has no later commit, and an older one shows its partition.",
    source=LOSES,
    expects={"output_without_offsets": PERMITTED},
)
def lost_offsets_are_the_only_ones(h: History) -> None:
    _elected(h, at=20.0)
    h.stored(0, -1, at=1.0, brokers=(1, 2), topic="in")
    _two(h, first=None, second=None, ends=False)


@asks(
    "Only the dead old leader of the offsets partition has the offsets; the election was clean.",
    source=TOGETHER + "; a clean election loses no committed record",
    expects={"output_without_offsets": VIOLATION, "offsets_without_output": NONE},
)
def offsets_are_lost_by_a_clean_election(h: History) -> None:
    h.led(1, 0, at=0.5, isr=(1, 2), topic=OFFSETS, partition=h.index)
    h.led(2, 1, at=20.0, isr=(2,), topic=OFFSETS, partition=h.index)
    _two(h, first=(1,), second=None, ends=False)


@asks(
    "The unclean election came before the transaction.",
    source=TOGETHER,
    expects={"output_without_offsets": VIOLATION},
)
def election_before_the_transaction_loses_no_offsets(h: History) -> None:
    _elected(h, at=3.0)
    _two(h, first=(1,), second=None, ends=False)


@asks(
    "The unclean election was of another partition of __consumer_offsets.",
    source=TOGETHER,
    expects={"output_without_offsets": VIOLATION},
)
def election_of_another_partition_loses_no_offsets(h: History) -> None:
    _elected(h, at=20.0)
    h.stored(0, -1, at=4.0, topic="in")
    _two(h, first=None, second=None, ends=False)
    for row in h.rows["committed_offsets"]:
        row["offsets_partition"] = OTHER


@asks(
    "Compaction has left the offsets of the next transaction of the group.",
    source=COMPACTED,
    expects={"output_without_offsets": UNDECIDED},
)
def offsets_are_compacted_away(h: History) -> None:
    _two(h, first=None, second=(1, 2))


@asks(
    "A tombstone follows: the group's offsets were deleted.",
    source=COMPACTED + "; OffsetDelete writes a tombstone",
    expects={"output_without_offsets": UNDECIDED},
)
def offsets_are_deleted_by_a_tombstone(h: History) -> None:
    _two(h, first=None, second=None, ends=False)
    h.stored(None, -1, at=70.0, is_tombstone=True, brokers=(1, 2), topic="in")


@asks(
    "An older commit of the group is left, which compaction would have removed too.",
    source=COMPACTED,
    expects={"output_without_offsets": VIOLATION},
)
def older_offsets_are_left(h: History) -> None:
    h.stored(0, -1, at=1.0, brokers=(1, 2), topic="in")
    _two(h, first=None, second=(1, 2))


@asks(
    "The offsets hold; the output is deleted by retention.",
    source="retention.ms: records are deleted, whoever has read them",
    expects={"offsets_without_output": PERMITTED, "output_without_offsets": NONE},
)
def output_is_deleted_by_retention(h: History) -> None:
    _two(h, first=(1, 2), second=(1, 2), deleted_to=6, retention_ms=20_000)


@asks(
    "The offsets hold; the output is gone below a log start that nothing allowed to advance.",
    source=TOGETHER,
    expects={"offsets_without_output": f"{VIOLATION}: lost", "retention_overreach": VIOLATION},
)
def output_is_deleted_by_nothing(h: History) -> None:
    _two(h, first=(1, 2), second=(1, 2), deleted_to=6)


def _two(
    h: History,
    *,
    first: tuple[int, ...] | None,
    second: tuple[int, ...] | None,
    ends: bool = True,
    deleted_to: int = 0,
    retention_ms: int | None = None,
) -> None:
    """Two transactions read 0 to 4 and 5 to 9, write five values each, and are committed.

    first, second: the brokers that have their offsets; None: nobody. ends: whether there is a
    second one.
    """
    h.topic("in")
    h.topic("t", retention_ms=retention_ms)
    h.group("g", "in", isolation="read_committed")
    plain(h, 9, topic="in")
    cluster(h)
    started(h, at=4.0, **Q)
    joined(h, 0, at=5.5, topic="in")
    h.polled(0, 9, at=6.0, topic="in")
    h.sent(0, 4, at=8.0, producer="q", transaction=0)
    _sent_offsets(h, 5, at=9.0, brokers=first)
    step(h, "commit", "committed", at=10.0, **Q)
    batches = [
        Batch(0, 4, pid=1, base_sequence=0, producer="q"),
        Batch(5, 5, pid=1, control="commit"),
    ]
    if ends:
        step(h, "begin", "begun", at=29.0, transaction=1, **Q)
        h.sent(6, 10, at=30.0, producer="q", sequence=5, transaction=1)
        _sent_offsets(h, 10, at=31.0, brokers=second, transaction=1)
        step(h, "commit", "committed", at=32.0, transaction=1, **Q)
        batches += [
            Batch(6, 10, pid=1, base_sequence=5, producer="q", sequence=5),
            Batch(11, 11, pid=1, control="commit"),
        ]
    end = batches[-1].last + 1
    watched(h, 1, end, times=(35.0, 45.0))
    if deleted_to:
        for broker in (1, 2):
            h.log_started(broker, deleted_to, at=60.0)
            left = [one for one in batches if one.first >= deleted_to]
            replica(h, broker, *left, start=deleted_to)
    else:
        replicas(h, *batches)
    watched(h, 1, end, times=(65.0, 85.0), start=deleted_to)


def _sent_offsets(
    h: History, offset: int, *, at: float, brokers: tuple[int, ...] | None, transaction: int = 0
) -> None:
    if brokers is not None:
        stored_in_transaction(h, offset, 0, at=at, marker="commit", topic="in")
        h.rows["committed_offsets"][-1]["brokers"] = [h.broker(one) for one in brokers]
    step(h, "send_offsets", "offsets_sent", at=at + 0.1, transaction=transaction, **Q)


def _elected(h: History, *, at: float) -> None:
    """Broker 2, out of sync, is elected leader of the offsets partition, by order."""
    number = h.index
    h.led(1, 0, at=0.5, isr=(1, 2), topic=OFFSETS, partition=number)
    h.led(1, 0, at=1.0, isr=(1,), topic=OFFSETS, partition=number)
    h.led(-1, 1, at=at - 1, isr=(1,), topic=OFFSETS, partition=number)
    h.fault("elect unclean", h.on_partition(OFFSETS, number), injected=at - 0.1, proved=at + 0.5)
    h.led(2, 2, at=at, isr=(2,), topic=OFFSETS, partition=number)
