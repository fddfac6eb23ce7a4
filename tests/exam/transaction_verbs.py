"""Verbs that histories of transactions share."""

from collections.abc import Iterable
from dataclasses import dataclass
from zlib import crc32

from tests.exam.history import History
from tests.exam.verbs import cluster, watched


@dataclass(frozen=True)
class Batch:
    """One batch of a log; `pid` 0 stands for none, and `control` is `commit` or `abort`.

    at: when it was appended; else as the replica's verb says.
    """

    first: int
    last: int
    epoch: int = 0
    pid: int = 0
    pid_epoch: int = 0
    base_sequence: int = -1
    control: str | None = None
    is_transactional: bool = True
    producer: str = "p"
    sequence: int | None = None
    at: float | None = None


def producer_id(h: History, pid: int) -> int:
    """A producer id that is this history's own; 0 stands for none."""
    return h.place.producer_id(pid) if pid else -1


def replica(
    h: History,
    broker: int,
    *batches: Batch,
    start: int = 0,
    topic: str = "t",
    partition: int = 0,
    at: float = 2.0,
) -> None:
    """What a replica holds at the end, with producer ids and control batches."""
    where = {"broker": h.broker(broker), "topic": h.own(topic), "partition": partition}
    epochs: dict[int, int] = {}
    for batch in batches:
        epochs.setdefault(batch.epoch, batch.first)
        first_value = batch.first if batch.sequence is None else batch.sequence
        for index, offset in enumerate(range(batch.first, batch.last + 1)):
            if batch.control is None:
                value = h.value(first_value + index, batch.producer)
                h.add(
                    "replica_records",
                    **where,
                    offset=offset,
                    leader_epoch=batch.epoch,
                    value=value,
                )
        h.add(
            "replica_batches",
            **where,
            base_offset=batch.first,
            last_offset=batch.last,
            leader_epoch=batch.epoch,
            producer_id=producer_id(h, batch.pid),
            producer_epoch=batch.pid_epoch if batch.pid else -1,
            base_sequence=-1 if batch.control else batch.base_sequence,
            is_control=batch.control is not None,
            is_transactional=bool(batch.pid) and batch.is_transactional,
            record_count=batch.last - batch.first + 1,
            size_bytes=100 * (batch.last - batch.first + 1),
            max_timestamp_micros=h.at(at if batch.at is None else batch.at),
            control_type=batch.control,
            checksum=crc32(repr(batch).encode()),
        )
    end = max((batch.last + 1 for batch in batches), default=start)
    h.add(
        "log_starts",
        **where,
        log_start_offset=start,
        log_end_offset=end,
        high_watermark_checkpoint=end,
    )
    for epoch, first in epochs.items():
        h.add("epoch_checkpoints", **where, leader_epoch=epoch, start_offset=first)


def replicas(h: History, *batches: Batch, topic: str = "t", partition: int = 0) -> None:
    """Both replicas hold the same."""
    for broker in (1, 2):
        replica(h, broker, *batches, topic=topic, partition=partition)


def step(
    h: History,
    asked: str,
    change: str,
    *,
    at: float,
    transaction: int | None = 0,
    pid: int = 1,
    pid_epoch: int = 0,
    producer: str = "p",
    transactional_id: str = "x",
    took: float = 0.05,
    outcome: str = "ok",
    error: str | None = None,
    state: str = "",
) -> None:
    """A step of a transactional producer; producer "" with `state`: the coordinator tells of it."""
    h.add(
        "transactions",
        worker=h.own("w"),
        producer=h.own(producer),
        transactional_id=h.own(transactional_id),
        transaction=transaction,
        step=asked,
        change=change,
        producer_id=producer_id(h, pid),
        producer_epoch=pid_epoch,
        state=state,
        outcome=outcome,
        error=error,
        seq=next_seq(h),
        began_micros=h.at(at - took),
        at_micros=h.at(at),
    )


def described(
    h: History,
    state: str,
    *,
    at: float,
    pid: int = 1,
    pid_epoch: int = 0,
    transactional_id: str = "x",
) -> None:
    """The coordinator tells the state of a transaction."""
    step(
        h,
        "describe",
        "described",
        at=at,
        transaction=None,
        pid=pid,
        pid_epoch=pid_epoch,
        producer="",
        transactional_id=transactional_id,
        state=state,
    )


def began_transaction(
    h: History,
    *,
    at: float,
    pid: int = 1,
    pid_epoch: int = 0,
    producer: str = "p",
    transactional_id: str = "x",
) -> None:
    """A transactional producer is initialised and begins its first transaction."""
    reported = {"pid": pid, "pid_epoch": pid_epoch, "producer": producer}
    ids = {"transactional_id": transactional_id}
    step(h, "initialize", "initialized", at=at, transaction=None, **reported, **ids)
    step(h, "begin", "begun", at=at + 0.2, **reported, **ids)


def next_seq(h: History) -> int:
    """The next number in the worker's history."""
    # The vocabulary numbers by the worker too; rows of one worker share one count.
    return h._next_seq()  # noqa: SLF001


def stored_in_transaction(
    h: History,
    offset: int,
    epoch: int,
    *,
    at: float,
    marker: str | None,
    marked: float | None = None,
    pid: int = 1,
    pid_epoch: int = 0,
    group: str = "g",
    topic: str = "t",
    partition: int = 0,
    offsets_partition: int | None = None,
) -> None:
    """An offset that a transaction stored, and the marker that ended it (None: none did).

    marked: when that was written; else half a second later.
    """
    h.stored(
        offset,
        epoch,
        at=at,
        group=group,
        topic=topic,
        partition=partition,
        offsets_partition=offsets_partition,
        brokers=(1, 2),
    )
    h.rows["committed_offsets"][-1].update(
        producer_id=producer_id(h, pid),
        producer_epoch=pid_epoch,
        marker=marker,
        marker_micros=h.at(at + 0.5 if marked is None else marked) if marker else None,
    )


def log_of_transactions(
    h: History,
    *batches: Batch,
    isolation: str = "read_committed",
    times: Iterable[float] = (35.0, 45.0, 55.0, 65.0, 75.0, 85.0),
) -> None:
    """The log of one partition, its leader and its only group."""
    h.topic()
    h.group(isolation=isolation)
    cluster(h)
    h.sampled(1, at=1.0, end=0, isr=(1, 2))
    watched(h, 1, batches[-1].last + 1, times=times)
    replicas(h, *batches)


def first_transaction(h: History) -> None:
    """Transaction 0 writes offsets 0 to 4 and is committed at second 10."""
    began_transaction(h, at=5.0)
    h.sent(0, 4, at=8.0, transaction=0)
    step(h, "commit", "committed", at=10.0)


def written_before_others(h: History) -> None:
    """A transaction writes 0 to 4 at second 10; another producer writes 5 to 9 at second 11."""
    began_transaction(h, at=9.0)
    h.sent(0, 4, at=10.0, transaction=0)
    h.sent(5, 9, at=11.0, producer="q", sequence=0)
