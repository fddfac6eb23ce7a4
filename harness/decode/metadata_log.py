"""The history of leaderships, replayed from `__cluster_metadata` as a controller would."""

from typing import Any

from harness.clients.jvm import java_class

METADATA_TOPIC = "__cluster_metadata"
_MICROS_PER_MS = 1000


class Leaderships:
    """Replays the longest metadata log that a controller or broker left.

    Leader and partition epochs follow from `PartitionRegistration.merge`, Kafka's own rule.
    """

    def __init__(self) -> None:
        """No log yet."""
        self._records: list[tuple[Any, Any]] = []

    def offer(self, records: list[tuple[Any, Any]]) -> None:
        """Take up one log if none so far reaches further."""
        if records and (not self._records or self._end(records) > self._end(self._records)):
            self._records = records

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the table `leaderships`, in the order of the log."""
        if not self._records:
            return []
        serde = java_class("org.apache.kafka.metadata.MetadataRecordSerde")()
        accessor = java_class("org.apache.kafka.common.protocol.ByteBufferAccessor")
        registration = java_class("org.apache.kafka.metadata.PartitionRegistration")
        topics: dict[str, str] = {}
        partitions: dict[tuple[str, int], Any] = {}
        rows = []
        for batch, record in self._records:
            message = serde.read(accessor(record.value()), record.valueSize()).message()
            kind = str(message.getClass().getSimpleName())
            if kind == "TopicRecord":
                topics[str(message.topicId())] = str(message.name())
                continue
            if kind not in ("PartitionRecord", "PartitionChangeRecord"):
                continue
            key = (str(message.topicId()), int(message.partitionId()))
            state = (
                registration(message)
                if kind == "PartitionRecord"
                else partitions[key].merge(message)
            )
            partitions[key] = state
            rows.append(
                {
                    "topic": topics[key[0]],
                    "partition": key[1],
                    "leader": int(state.leader),
                    "leader_epoch": int(state.leaderEpoch),
                    "partition_epoch": int(state.partitionEpoch),
                    "replicas": [int(replica) for replica in state.replicas],
                    "isr": [int(replica) for replica in state.isr],
                    "elr": [int(replica) for replica in state.elr],
                    "metadata_offset": int(record.offset()),
                    "metadata_epoch": int(batch.partitionLeaderEpoch()),
                    "at_micros": int(record.timestamp()) * _MICROS_PER_MS,
                }
            )
        return rows

    @staticmethod
    def _end(records: list[tuple[Any, Any]]) -> tuple[int, int]:
        batch, record = records[-1]
        return int(batch.partitionLeaderEpoch()), int(record.offset())
