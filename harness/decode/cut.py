"""Batches and records that replicas had when a fault on their server ended, and lack at the end."""

from collections.abc import Iterable
from pathlib import Path

from harness.decode.metadata_log import METADATA_TOPIC, metadata_batches
from harness.decode.replica_files import Replica, replicas
from harness.decode.segments import batches, value_of
from harness.decode.tables import Rows

_BATCH = ("broker", "topic", "partition", "base_offset", "leader_epoch", "checksum")
_OF_METADATA = ("server", "base_offset", "metadata_epoch", "checksum")


def decode_cut(kept: Path, rows: Rows) -> None:
    """Add the rows of `cut_batches`, `cut_records` and `cut_metadata_batches`.

    Args:
        kept: one folder for each time, named in microseconds since 1970, with one per server.
        rows: must have those of `replica_batches`, `log_starts` and `metadata_batches` at the end
            of the run.
    """
    copies = [
        (int(taken.name), replica)
        for taken in sorted(kept.glob("*"), key=lambda folder: int(folder.name))
        for replica in replicas(taken)
    ]
    _cut_replicas([copy for copy in copies if copy[1].topic != METADATA_TOPIC], rows)
    _cut_metadata([copy for copy in copies if copy[1].topic == METADATA_TOPIC], rows)


def _cut_metadata(copies: Iterable[tuple[int, Replica]], rows: Rows) -> None:
    known, starts = set(), dict[int, int]()
    for row in rows.of("metadata_batches"):
        known.add(tuple(row[name] for name in _OF_METADATA))
        starts.setdefault(row["server"], row["base_offset"])
    for taken_micros, replica in copies:
        for row in metadata_batches(replica.broker, batches(replica, Rows())):
            identity = tuple(row[name] for name in _OF_METADATA)
            if identity not in known and row["base_offset"] >= starts.get(replica.broker, 0):
                known.add(identity)
                del row["at_micros"]
                rows.add("cut_metadata_batches", **row, taken_micros=taken_micros)


def _cut_replicas(copies: Iterable[tuple[int, Replica]], rows: Rows) -> None:
    known = {tuple(row[name] for name in _BATCH) for row in rows.of("replica_batches")}
    starts = {
        (row["broker"], row["topic"], row["partition"]): row["log_start_offset"]
        for row in rows.of("log_starts")
    }
    for taken_micros, replica in copies:
        where = (replica.broker, replica.topic, replica.partition)
        for batch in batches(replica, Rows()):
            epoch, base = int(batch.partitionLeaderEpoch()), int(batch.baseOffset())
            identity = (*where, base, epoch, int(batch.checksum()))
            if identity in known or base < starts.get(where, 0):
                continue
            known.add(identity)
            shared = {
                "broker": replica.broker,
                "topic": replica.topic,
                "partition": replica.partition,
                "leader_epoch": epoch,
                "taken_micros": taken_micros,
            }
            records = list(batch)
            rows.add(
                "cut_batches",
                **shared,
                base_offset=base,
                last_offset=int(batch.lastOffset()),
                record_count=len(records),
                size_bytes=int(batch.sizeInBytes()),
            )
            if not batch.isControlBatch():
                for record in records:
                    offset, value = int(record.offset()), value_of(record)
                    rows.add("cut_records", **shared, offset=offset, value=value)
