"""Offset commits, from `__consumer_offsets`."""

from typing import Any

from contract.tables import MICROS_PER_MS
from harness.java.jvm import java_class
from harness.wire.requests import NO_ID

_OFFSET_COMMIT_KEYS = (0, 1)
"""The leading number of an offset commit's key; 2 is a group's metadata (`GroupMetadataKey`)."""

_PACKAGE = "org.apache.kafka.coordinator.group.generated"


class CommittedOffsets:
    """Collects the offset commits of all replicas; the same record on two brokers counts once."""

    def __init__(self) -> None:
        """The JVM must run."""
        self._rows: dict[tuple[int, int, int], dict[str, Any]] = {}
        self._open: dict[tuple[int, int, int], list[dict[str, Any]]] = {}
        self._key_class = java_class(f"{_PACKAGE}.OffsetCommitKey")
        self._value_class = java_class(f"{_PACKAGE}.OffsetCommitValue")
        self._accessor = java_class("org.apache.kafka.common.protocol.ByteBufferAccessor")

    def add(self, broker: int, offsets_partition: int, batch: Any, record: Any) -> None:
        """Add a record of a broker's offsets partition, if it is an offset commit."""
        key_bytes = record.key()
        version = int(key_bytes.getShort())
        if version not in _OFFSET_COMMIT_KEYS:
            return
        highest = int(self._key_class.HIGHEST_SUPPORTED_VERSION)
        key = self._key_class(self._accessor(key_bytes), min(version, highest))
        row: dict[str, Any] = {
            "group": str(key.group()),
            "topic": str(key.topic()),
            "partition": int(key.partition()),
            "is_tombstone": not record.hasValue(),
            "offsets_partition": offsets_partition,
            "offsets_offset": int(record.offset()),
            "log_epoch": int(batch.partitionLeaderEpoch()),
            "committed_micros": int(record.timestamp()) * MICROS_PER_MS,
            "producer_id": -1,
            "producer_epoch": -1,
        }
        if record.hasValue():
            value_bytes = record.value()
            value_version = int(value_bytes.getShort())
            value = self._value_class(self._accessor(value_bytes), value_version)
            row |= {"value_version": value_version, "topic_id": _topic_id(value)}
            # A client may commit a placeholder, such as -1, which clients take for no commit.
            if int(value.offset()) < 0:
                row["is_tombstone"] = True
            else:
                row |= {
                    "offset": int(value.offset()),
                    "committed_epoch": int(value.leaderEpoch()),
                    "metadata": str(value.metadata()),
                }
        identity = (offsets_partition, row["offsets_offset"], row["log_epoch"])
        row = self._rows.setdefault(identity, row)
        holders: list[int] = row.setdefault("brokers", [])
        if broker not in holders:
            holders.append(broker)
        if batch.isTransactional():
            producer_id = int(batch.producerId())
            row |= {"producer_id": producer_id, "producer_epoch": int(batch.producerEpoch())}
            self._open.setdefault((broker, offsets_partition, producer_id), []).append(row)

    def end(
        self, broker: int, offsets_partition: int, batch: Any, record: Any, marker: str
    ) -> None:
        """Apply a control record: it commits or aborts the producer id's open commits."""
        producer_id = int(batch.producerId())
        marker_micros = int(record.timestamp()) * MICROS_PER_MS
        for row in self._open.pop((broker, offsets_partition, producer_id), []):
            row |= {"marker": marker, "marker_micros": marker_micros}

    def rows(self) -> list[dict[str, Any]]:
        """Return rows of the table `committed_offsets`."""
        return [self._rows[identity] for identity in sorted(self._rows)]


def _topic_id(value: Any) -> str | None:
    """Return the topic id of a commit; None if it has none, or Kafka's class does not know it."""
    if not hasattr(value, "topicId"):
        return None
    found = str(value.topicId())
    return None if found == NO_ID else found
