"""Replica folders to tables, with `FileRecords` and the record classes of the JVM's Kafka."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from contract.errors import WorkerError
from contract.tables import MICROS_PER_MS, OFFSETS_TOPIC
from harness.decode.coordinator import CommittedOffsets
from harness.decode.cut import decode_cut
from harness.decode.group_members import TABLES as TABLES_OF_MEMBERS
from harness.decode.group_members import GroupMembers
from harness.decode.metadata_log import METADATA_TOPIC, MetadataLog, metadata_batches
from harness.decode.replica_files import Replica, replicas
from harness.decode.segments import batches, control_kind, data_records, open_segment
from harness.decode.tables import Rows, write_table

_SHOWN_BATCHES = 5
_TOGETHER_BYTES = 8 << 20
"""Of batches whose records are read together: they are kept in the JVM until then."""


def decode_segments(segments: Path, tables: Path, *, kept: Path, run: str) -> dict[str, int]:
    """Write every table that comes from replicas; returns the number of rows of each.

    Args:
        segments: the folder of the replicas as they are at the end of the run.
        tables: the folder to write to.
        kept: the folder of replicas that were copied during the run; need not exist.
        run: its identity (`RunDescription.identity`).
    """
    rows = Rows()
    committed, metadata = CommittedOffsets(), MetadataLog()
    members = GroupMembers()
    for replica in replicas(segments):
        if replica.topic == METADATA_TOPIC:
            in_order = list(batches(replica, rows))
            rows.extend("metadata_batches", metadata_batches(replica.broker, in_order))
            metadata.offer(list(_records(in_order)))
        elif replica.topic == OFFSETS_TOPIC:
            _decode_offsets(replica, committed, members, rows)
        elif not replica.topic.startswith("__"):
            _decode_replica(replica, segments, rows)
    decode_cut(kept, rows)
    rows.extend("committed_offsets", committed.rows())
    for name in TABLES_OF_MEMBERS:
        rows.extend(name, members.rows(name))
    rows.extend("leaderships", metadata.leaderships())
    rows.extend("broker_states", metadata.broker_states())
    rows.extend("acls", metadata.acls())
    names = (
        "committed_offsets",
        *TABLES_OF_MEMBERS,
        "leaderships",
        "broker_states",
        "acls",
        "replica_batches",
        "replica_records",
        "epoch_checkpoints",
        "log_starts",
        "metadata_batches",
        "cut_metadata_batches",
        "unread_segments",
        "cut_batches",
        "cut_records",
    )
    return {name: write_table(tables, name, rows.table(name), run=run) for name in names}


def truncate_tail(folder: Path, *, records: int) -> tuple[int, int]:
    """Remove the last `records` records of a replica whose broker is down, as whole batches.

    Returns:
        The log end offset before and after.

    Raises:
        WorkerError: no batch begins at that record; nothing was truncated.
    """
    newest = max((path for path in folder.glob("*.log") if path.stat().st_size), default=None)
    if newest is None:
        raise WorkerError(f"{folder} has no segment with records, so nothing can be truncated")
    file_records = open_segment(newest, mutable=True)
    try:
        bounds = [
            (int(batch.position()), int(batch.baseOffset()), int(batch.nextOffset()))
            for batch in file_records.batches()
        ]
        end = bounds[-1][2]
        cut = next((entry for entry in bounds if entry[1] == end - records), None)
        if cut is None:
            starts = ", ".join(str(end - base) for _, base, _ in bounds[-_SHOWN_BATCHES:])
            raise WorkerError(
                f"{newest.name} ends at offset {end} and has no batch that begins {records} records"
                f" before that; its last batches begin {starts} records before. Truncate one of"
                " these numbers of records"
            )
        position, base_offset, _ = cut
        file_records.truncateTo(position)
    finally:
        file_records.close()
    return end, base_offset


def _records(in_order: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield data records with their batches, without control batches."""
    for batch in in_order:
        if not batch.isControlBatch():
            for record in batch:
                yield batch, record


def _decode_offsets(
    replica: Replica, committed: CommittedOffsets, members: GroupMembers, rows: Rows
) -> None:
    for batch in batches(replica, rows):
        for record in batch:
            if not batch.isControlBatch():
                members.add(replica.partition, batch, record)
                committed.add(replica.broker, replica.partition, batch, record)
            elif (marker := control_kind(record)) in ("commit", "abort"):
                committed.end(replica.broker, replica.partition, batch, record, marker)


def _decode_replica(replica: Replica, segments: Path, rows: Rows) -> None:
    key = {"broker": replica.broker, "topic": replica.topic, "partition": replica.partition}
    base = int(replica.segments[0].stem) if replica.segments else 0
    log_end = base
    data, size_bytes = list[Any](), 0
    for batch in batches(replica, rows):
        epoch, control = int(batch.partitionLeaderEpoch()), bool(batch.isControlBatch())
        log_end = int(batch.nextOffset())
        control_type = next(map(control_kind, batch), None) if control else None
        if not control:
            data.append(batch)
            size_bytes += int(batch.sizeInBytes())
        if size_bytes > _TOGETHER_BYTES:
            rows.extend_by_columns("replica_records", data_records(replica, data))
            data, size_bytes = [], 0
        rows.add(
            "replica_batches",
            **key,
            base_offset=int(batch.baseOffset()),
            last_offset=int(batch.lastOffset()),
            leader_epoch=epoch,
            producer_id=int(batch.producerId()),
            producer_epoch=int(batch.producerEpoch()),
            base_sequence=int(batch.baseSequence()),
            is_control=control,
            is_transactional=bool(batch.isTransactional()),
            record_count=int(batch.countOrNull()),
            size_bytes=int(batch.sizeInBytes()),
            max_timestamp_micros=int(batch.maxTimestamp()) * MICROS_PER_MS,
            control_type=control_type,
            checksum=int(batch.checksum()),
        )
    if data:
        rows.extend_by_columns("replica_records", data_records(replica, data))
    server, partition = segments / str(replica.broker), (replica.topic, replica.partition)
    starts = _offset_checkpoint(server / "log-start-offset-checkpoint")
    high_watermarks = _offset_checkpoint(server / "replication-offset-checkpoint")
    rows.add(
        "log_starts",
        **key,
        log_start_offset=max(base, starts.get(partition, 0)),
        log_end_offset=log_end,
        high_watermark_checkpoint=high_watermarks.get(partition),
    )
    for epoch, start in _epoch_checkpoint(replica.folder / "leader-epoch-checkpoint"):
        rows.add("epoch_checkpoints", **key, leader_epoch=epoch, start_offset=start)


def _checkpoint_lines(path: Path) -> list[str]:
    """Return the entries of a checkpoint file, which follow a version line and a count line.

    See `org.apache.kafka.server.common.CheckpointFile`.
    """
    if not path.exists():
        return []
    return [line for line in path.read_text().splitlines()[2:] if line]


def _epoch_checkpoint(path: Path) -> list[tuple[int, int]]:
    pairs = [line.split() for line in _checkpoint_lines(path)]
    return [(int(epoch), int(start)) for epoch, start in pairs]


def _offset_checkpoint(path: Path) -> dict[tuple[str, int], int]:
    entries = [line.split() for line in _checkpoint_lines(path)]
    return {(topic, int(partition)): int(offset) for topic, partition, offset in entries}
