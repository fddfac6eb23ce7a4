"""Spans of appended records, and their records."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from contract.events import make_value
from contract.tables import MICROS_PER_SECOND
from simulator.frames import NULL, Array

NEVER = int(np.iinfo(np.int64).max)
"""When readers of committed values may have what no marker ends."""
REPLICATION_MICROS = 12_000
"""From the append on the leader until consumers may have it."""


def micros(seconds: float) -> int:
    """Seconds as microseconds."""
    return round(seconds * MICROS_PER_SECOND)


@dataclass(frozen=True, kw_only=True)
class Span:
    """Records that one producer appended in a row to one partition, under one leader epoch.

    began, ended: when the first and the last were appended, in microseconds since 1970.
    first_sequence: of the values; base_sequence: of the idempotent producer, -1 without.
    visible: from when readers of committed values may go past them; None: as soon as anybody.
    is_aborted: these readers go past them without a delivery.
    is_cut: a later truncation removed them.
    control: the type of the one control record that the span is, if it is one.
    """

    partition: int
    epoch: int
    leader: int
    first_offset: int
    count: int
    began: int
    ended: int
    producer: str
    first_sequence: int
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    transaction: int = NULL
    visible: int | None = None
    is_aborted: bool = False
    is_cut: bool = False
    control: str | None = None


@dataclass
class Log:
    """Every record that was ever appended, one array a column, in the order of the spans."""

    partition: Array
    offset: Array
    epoch: Array
    leader: Array
    at: Array
    span: Array
    batch: Array
    in_span: Array
    sequence: Array
    visible: Array
    is_cut: Array
    is_control: Array
    is_aborted: Array
    value: Array = field(default_factory=lambda: np.empty(0, dtype=object))

    def __len__(self) -> int:
        """Return the number of records, control records included."""
        return len(self.offset)


def expand(
    spans: Sequence[Span], batch_records: int, *, keys: np.random.Generator | None = None
) -> Log:
    """Return the records of spans, in batches of `batch_records`, each with one time.

    Args:
        spans: with `keys`, all of one producer.
        batch_records: the number of records of a batch.
        keys: chooses the partition of each record by its key: the sequence numbers follow the
            time over all partitions, not over one span.
    """
    counts = np.array([span.count for span in spans], dtype=np.int64)

    def each(values: Sequence[int]) -> Array:
        return np.repeat(np.array(values, dtype=np.int64), counts)

    firsts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
    in_span = np.arange(counts.sum(), dtype=np.int64) - np.repeat(firsts, counts)
    batches = -(-counts // batch_records)
    batch_in_span = in_span // batch_records
    first_batches = np.concatenate([[0], np.cumsum(batches)[:-1]]).astype(np.int64)
    began, ended = each([s.began for s in spans]), each([s.ended for s in spans])
    at = began + (ended - began) * batch_in_span // np.maximum(np.repeat(batches, counts), 1)
    visible = each([0 if s.visible is None else s.visible for s in spans])
    readable = at + REPLICATION_MICROS
    is_late = visible > readable
    sequence = each([s.first_sequence for s in spans]) + in_span
    if keys is not None:
        sequence[np.lexsort([keys.random(len(at)), at])] = np.arange(len(at))
    log = Log(
        partition=each([s.partition for s in spans]),
        offset=each([s.first_offset for s in spans]) + in_span,
        epoch=each([s.epoch for s in spans]),
        leader=each([s.leader for s in spans]),
        at=at,
        span=each(range(len(spans))),
        batch=np.repeat(first_batches, counts) + batch_in_span,
        in_span=in_span,
        sequence=sequence,
        visible=np.where(is_late, visible, readable),
        is_cut=each([s.is_cut for s in spans]).astype(bool),
        is_control=each([s.control is not None for s in spans]).astype(bool),
        is_aborted=each([s.is_aborted for s in spans]).astype(bool),
    )
    log.value = _values(spans, sequence)
    return log


def _values(spans: Sequence[Span], sequence: Array) -> Array:
    values = np.empty(len(sequence), dtype=object)
    at = 0
    for span in spans:
        if span.control is None:
            mine = slice(at, at + span.count)
            values[mine] = [make_value(span.producer, number) for number in sequence[mine].tolist()]
        at += span.count
    return values
