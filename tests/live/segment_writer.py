"""Writes a replica's segments with Kafka's classes, damages them, decodes them, tells the tables.

A program of its own, since a process has one JVM: `segment_writer.py FOLDER DAMAGE RECORDS`.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import jpype
import pyarrow.parquet as pq

from cluster.kafka import distribution
from contract.ranges import to_records
from harness.decode.logs import decode_segments, truncate_tail
from harness.decode.segments import open_segment
from harness.java.jvm import first_java_class, java_class, start_jvm

SMALL_BATCHES = 3


def main() -> None:
    """Print the rows that the damage left."""
    folder, damage, records = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    start_jvm(map(str, distribution.class_path("4.4.0")), log=folder / "jvm.log")
    segments, tables = folder / "segments", folder / "tables"
    replica = segments / "1" / "t-0"
    replica.mkdir(parents=True)
    offset = write(replica, 0, [records])
    write(replica, offset, [2] * SMALL_BATCHES)
    DAMAGES[damage](segments)
    reported = decode_segments(segments, tables, kept=folder / "kept", run="")
    unread = pq.read_table(tables / "unread_segments.parquet").to_pylist()
    cut_rows = to_records("cut_records", pq.read_table(tables / "cut_records.parquet")).to_pylist()
    print(json.dumps({"rows": reported, "unread": unread, "cut": cut_rows}))


def write(replica: Path, offset: int, batches: list[int]) -> int:
    """Write one segment of batches of so many records each; returns the next offset."""
    segment = replica / f"{offset:020d}.log"
    segment.touch()
    opened = open_segment(segment, mutable=True)
    memory = first_java_class(
        "org.apache.kafka.common.record.internal.MemoryRecords",
        "org.apache.kafka.common.record.MemoryRecords",
    )
    none = java_class("org.apache.kafka.common.compress.Compression").NONE
    epoch = java_class("java.lang.Integer")(0)
    for count in batches:
        opened.append(memory.withRecords(offset, none, epoch, make_records(count)))
        offset += count
    opened.flush()
    opened.close()
    return offset


def make_records(count: int) -> Any:
    """So many records as Kafka has them in memory."""
    simple = first_java_class(
        "org.apache.kafka.common.record.internal.SimpleRecord",
        "org.apache.kafka.common.record.SimpleRecord",
    )
    array = jpype.JArray(simple)(count)
    for index in range(count):
        array[index] = simple(java_class("java.lang.String")(f"p:{index}:0").getBytes())
    return array


def torn(segments: Path) -> None:
    """The newest segment ends within a batch."""
    cut(newest(segments), 5)


def torn_before(segments: Path) -> None:
    """An older segment ends within a batch."""
    cut(min((segments / "1" / "t-0").glob("*.log")), 5)


def corrupt(segments: Path) -> None:
    """One byte of a record is another."""
    content = bytearray(newest(segments).read_bytes())
    content[-1] ^= 1
    newest(segments).write_bytes(content)


def copied(segments: Path) -> None:
    """Somebody copied a segment, a replica and a server beside themselves."""
    replica = segments / "1" / "t-0"
    shutil.copy(newest(segments), replica / "copy of 0.log")
    shutil.copytree(replica, segments / "1" / "t-0 (copy)")
    shutil.copytree(segments / "1", segments / "1 (copy)")


def truncated(segments: Path) -> None:
    """The replica was kept twice before its last two batches were cut."""
    for taken in (7, 9):
        shutil.copytree(segments / "1", segments.parent / "kept" / str(taken) / "1")
    truncate_tail(segments / "1" / "t-0", records=4)


def newest(segments: Path) -> Path:
    """The segment with the highest base offset."""
    return max((segments / "1" / "t-0").glob("*.log"))


def cut(segment: Path, size_bytes: int) -> None:
    """Cut so many bytes off a file's end."""
    with segment.open("r+b") as opened:
        opened.truncate(segment.stat().st_size - size_bytes)


DAMAGES = {
    "none": lambda _: None,
    "torn": torn,
    "torn_before": torn_before,
    "corrupt": corrupt,
    "copied": copied,
    "truncated": truncated,
}

if __name__ == "__main__":
    main()
