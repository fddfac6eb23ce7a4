"""Batches and records that replicas had when a fault on their server ended, and lack at the end."""

from pathlib import Path

from harness.decode.replica_files import replicas
from harness.decode.segments import batches, value_of
from harness.decode.tables import Rows

_BATCH = ("broker", "topic", "partition", "base_offset", "leader_epoch", "checksum")


def decode_cut(kept: Path, rows: Rows) -> None:
    """Add the rows of `cut_batches` and `cut_records`.

    Args:
        kept: one folder for each time, named in microseconds since 1970, with one per server.
        rows: must have those of `replica_batches` and `log_starts` at the end of the run.
    """
    known = {tuple(row[name] for name in _BATCH) for row in rows.of("replica_batches")}
    starts = {
        (row["broker"], row["topic"], row["partition"]): row["log_start_offset"]
        for row in rows.of("log_starts")
    }
    for taken in sorted(kept.glob("*"), key=lambda folder: int(folder.name)):
        for replica in replicas(taken):
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
                    "taken_micros": int(taken.name),
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
