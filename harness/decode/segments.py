"""Segments as servers left them, read with Kafka's `FileRecords`."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import jpype
import pyarrow as pa

from contract.ranges import RECORDS
from harness.decode.replica_files import Replica
from harness.decode.tables import Rows
from harness.java.columns import (
    bind_arguments,
    function_by,
    method,
    numbers,
    numbers_by,
    texts,
    texts_by,
    then,
)
from harness.java.jvm import exception_name, first_java_class, java_class, java_list


def batches(replica: Replica, rows: Rows) -> Iterator[Any]:
    """Yield a replica's batches, as far as its segments can be read.

    Args:
        replica: the replica.
        rows: receives a row of `unread_segments` for each that can't be read to its end.
    """
    for segment in replica.segments:
        is_newest = segment == replica.segments[-1]
        file_records = open_segment(segment, mutable=False)
        position, error = 0, None
        try:
            for batch in file_records.batches():
                batch.ensureValid()
                yield batch
                position = int(batch.position()) + int(batch.sizeInBytes())
        except jpype.JException as raised:
            error = f"{exception_name(raised)}: {raised.getMessage()}"
        finally:
            file_records.close()
        unread = segment.stat().st_size - position
        if unread and not error and not is_newest:
            error = "it ends within a batch, though a later segment follows"
        if unread:
            rows.add(
                "unread_segments",
                broker=replica.broker,
                topic=replica.topic,
                partition=replica.partition,
                segment=segment.name,
                position_bytes=position,
                unread_bytes=unread,
                error=error,
            )


def data_records(replica: Replica, data: Sequence[Any]) -> pa.Table:
    """Return the rows of `replica_records` that batches of a replica have, none of them control."""
    stream_of, offset, size, value, epoch, count = _columns()
    of_java = java_list(data)

    def records() -> Any:
        return of_java.stream().flatMap(stream_of)

    counts = numbers(of_java.stream(), count)
    epochs = map(repeat, numbers(of_java.stream(), epoch), counts)
    has_values = min(numbers(records(), size), default=-1) >= 0
    values: Sequence[str | None] | None = texts(records(), value) if has_values else None
    if values is None:
        values = [value_of(record) for batch in data for record in batch]
    total = len(values)
    columns = {
        "broker": pa.repeat(replica.broker, total),
        "topic": pa.repeat(replica.topic, total),
        "partition": pa.repeat(replica.partition, total),
        "offset": numbers(records(), offset),
        "leader_epoch": pa.array(chain.from_iterable(epochs), pa.int32()),
        "value": values,
    }
    schema = RECORDS["replica_records"]
    return pa.table({name: columns[name] for name in schema.names}, schema)


@cache
def _columns() -> tuple[Any, ...]:
    """The functions for `data_records`; a record without a value has size -1 of it."""
    batch, record = _record_class("RecordBatch"), _record_class("Record")
    buffer = java_class("java.nio.ByteBuffer")
    to_stream = method(
        java_class("java.util.stream.StreamSupport"),
        "stream",
        java_class("java.util.Spliterator"),
        jpype.JBoolean,
    )
    in_order = bind_arguments(to_stream, java_class("java.lang.Boolean").FALSE)
    utf8 = method(java_class("org.apache.kafka.common.utils.Utils"), "utf8", buffer)
    return (
        function_by(then(method(java_class("java.lang.Iterable"), "spliterator"), in_order)),
        numbers_by(method(record, "offset")),
        numbers_by(method(record, "valueSize")),
        texts_by(then(method(record, "value"), utf8)),
        numbers_by(method(batch, "partitionLeaderEpoch")),
        numbers_by(method(batch, "countOrNull")),
    )


def value_of(record: Any) -> str | None:
    """Return a record's value as text."""
    utf8 = java_class("org.apache.kafka.common.utils.Utils").utf8
    return str(utf8(record.value())) if record.hasValue() else None


def control_kind(record: Any) -> str:
    """Return a control record's type, e.g. `commit` or `abort`."""
    kinds = _record_class("ControlRecordType")
    return str(kinds.parse(record.key()).name()).lower()


def open_segment(segment: Path, *, mutable: bool) -> Any:
    """Open a segment as `FileRecords`."""
    return _record_class("FileRecords").open(java_class("java.io.File")(str(segment)), mutable)


def _record_class(name: str) -> Any:
    """Return a class of Kafka's records, which moved to an `internal` package in 4.x."""
    package = "org.apache.kafka.common.record"
    return first_java_class(f"{package}.internal.{name}", f"{package}.{name}")
