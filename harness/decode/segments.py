"""Segments as servers left them, read with Kafka's `FileRecords`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jpype

from harness.decode.replica_files import Replica
from harness.decode.tables import Rows
from harness.java.jvm import exception_name, first_java_class, java_class


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


def value_of(record: Any) -> str | None:
    """Return a record's value as text."""
    utf8 = java_class("org.apache.kafka.common.utils.Utils").utf8
    return str(utf8(record.value())) if record.hasValue() else None


def control_kind(record: Any) -> str:
    """Return a control record's type, e.g. `commit` or `abort`."""
    kinds = first_java_class(
        "org.apache.kafka.common.record.internal.ControlRecordType",
        "org.apache.kafka.common.record.ControlRecordType",
    )
    return str(kinds.parse(record.key()).name()).lower()


def open_segment(segment: Path, *, mutable: bool) -> Any:
    """Open a segment as `FileRecords`, which moved to an `internal` package in 4.x."""
    file_records = first_java_class(
        "org.apache.kafka.common.record.internal.FileRecords",
        "org.apache.kafka.common.record.FileRecords",
    )
    return file_records.open(java_class("java.io.File")(str(segment)), mutable)
