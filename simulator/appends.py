"""The rows of producers and replicas about a universe's records."""

from collections.abc import Sequence

import numpy as np

from contract.events import make_value
from contract.terms import Outcome
from simulator.frames import NULL, Array, Frame
from simulator.log import Log
from simulator.universe import Universe

ANSWER_MICROS = 5_000
"""Time from a producer's intent to the append, and from there to its response."""
_IN_FLIGHT_MAX = 5
"""The default of `max.in.flight.requests.per.connection`."""
_BATCH_BYTES, _RECORD_BYTES = 61, 30


def write_appends(universe: Universe, *, acks: str, replicas: tuple[int, ...]) -> None:
    """Add sends, replica_batches, replica_records, epoch_checkpoints and log_starts."""
    log = universe.the_log()
    universe.add(_sends(universe, log, acks))
    kept = np.flatnonzero(~log.is_cut)
    batches, records = _batches(universe, log, kept), _records(universe, log, kept)
    for broker in replicas:
        universe.add(batches.but(broker=broker))
        universe.add(records.but(broker=broker))
    for partition, epoch, offset in _epoch_starts(log, kept):
        for broker in replicas:
            universe.write(
                "epoch_checkpoints",
                broker=broker,
                topic=universe.topic,
                partition=partition,
                leader_epoch=epoch,
                start_offset=offset,
            )
    for partition in range(universe.partitions):
        offsets = log.offset[kept][log.partition[kept] == partition]
        for broker in replicas:
            universe.write(
                "log_starts",
                high_watermark_checkpoint=int(offsets.max()) + 1,
                broker=broker,
                topic=universe.topic,
                partition=partition,
                log_start_offset=0,
                log_end_offset=int(offsets.max()) + 1,
            )


def _sends(universe: Universe, log: Log, acks: str) -> Frame:
    data = np.flatnonzero(~log.is_control)
    span = log.span[data]
    spans = universe.spans
    return Frame.of(
        "sends",
        len(data),
        worker=universe.worker,
        producer=_objects([s.producer for s in spans])[span],
        sequence=log.sequence[data],
        value=log.value[data],
        topic=universe.topic,
        partition=log.partition[data],
        offset=log.offset[data],
        acks=acks,
        outcome=Outcome.OK.value,
        intended_micros=log.at[data] - ANSWER_MICROS,
        answered_micros=log.at[data] + ANSWER_MICROS,
        transaction=_integers([s.transaction for s in spans])[span],
        is_idempotent=_integers([s.producer_id for s in spans])[span] >= 0,
        in_flight_max=_IN_FLIGHT_MAX,
    )


def _batches(universe: Universe, log: Log, kept: Array) -> Frame:
    _, first, count = np.unique(log.batch[kept], return_index=True, return_counts=True)
    first = kept[first]
    span, spans = log.span[first], universe.spans
    base = _integers([s.base_sequence for s in spans])[span]
    return Frame.of(
        "replica_batches",
        len(first),
        checksum=log.batch[first] + 1,
        topic=universe.topic,
        partition=log.partition[first],
        base_offset=log.offset[first],
        last_offset=log.offset[first] + count - 1,
        leader_epoch=log.epoch[first],
        producer_id=_integers([s.producer_id for s in spans])[span],
        producer_epoch=_integers([s.producer_epoch for s in spans])[span],
        base_sequence=np.where(base < 0, -1, base + log.in_span[first]),
        is_control=log.is_control[first],
        is_transactional=(_integers([s.transaction for s in spans])[span] != NULL),
        record_count=count,
        size_bytes=_BATCH_BYTES + _RECORD_BYTES * count,
        max_timestamp_micros=log.at[first] // 1000 * 1000,
        control_type=_objects([s.control for s in spans])[span],
    )


def _records(universe: Universe, log: Log, kept: Array) -> Frame:
    data = kept[~log.is_control[kept]]
    return Frame.of(
        "replica_records",
        len(data),
        topic=universe.topic,
        partition=log.partition[data],
        offset=log.offset[data],
        leader_epoch=log.epoch[data],
        value=log.value[data],
    )


def _epoch_starts(log: Log, kept: Array) -> list[tuple[int, int, int]]:
    """(partition, epoch, start offset) of the surviving branch."""
    keys = np.stack([log.partition[kept], log.epoch[kept]])
    pairs, which = np.unique(keys, axis=1, return_inverse=True)
    starts = np.full(pairs.shape[1], np.iinfo(np.int64).max)
    np.minimum.at(starts, which.reshape(-1), log.offset[kept])
    return [(int(p), int(e), int(start)) for (p, e), start in zip(pairs.T, starts, strict=True)]


def write_failed_sends(
    universe: Universe, producer: str, partition: int, count: int, **values: object
) -> None:
    """Add failed sends behind a producer's last ones; `values` are further columns."""
    sends = universe.frame("sends")
    first = int(sends["sequence"][sends.where(producer=producer, partition=partition)].max()) + 1
    made = [make_value(producer, first + number) for number in range(count)]
    universe.write(
        "sends",
        count,
        worker=universe.worker,
        producer=producer,
        sequence=np.arange(first, first + count),
        value=_objects(made),
        topic=universe.topic,
        partition=partition,
        acks="all",
        outcome=Outcome.FAILED.value,
        **values,
    )


def _integers(values: Sequence[int]) -> Array:
    return np.array(values, dtype=np.int64)


def _objects(values: Sequence[str | None]) -> Array:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
