"""Leaderships and brokers over time, replayed from `__cluster_metadata` by a controller's rules."""

from collections.abc import Iterable, Iterator
from typing import Any

from contract.tables import MICROS_PER_MS
from harness.decode.segments import control_kind
from harness.java.jvm import first_java_class, java_class

METADATA_TOPIC = "__cluster_metadata"
_FENCING_CHANGES = {-1: False, 1: True}
"""Values of `BrokerRegistrationFencingChange`; 0 is no change."""


class MetadataLog:
    """Replays the longest metadata log of a controller or broker.

    Leader and partition epochs follow from `PartitionRegistration.merge`, Kafka's own rule.
    """

    def __init__(self) -> None:
        """Start without a log."""
        self._records: list[tuple[Any, Any]] = []

    def offer(self, records: list[tuple[Any, Any]]) -> None:
        """Use a log if no earlier one is longer."""
        if records and (not self._records or self._end(records) > self._end(self._records)):
            self._records = records

    def leaderships(self) -> list[dict[str, Any]]:
        """Return rows of the table `leaderships`, in the order of the log."""
        topics: dict[str, str] = {}
        partitions: dict[tuple[str, int], Any] = {}
        rows = []
        for batch, record, kind, message in self._messages():
            if kind == "TopicRecord":
                topics[str(message.topicId())] = str(message.name())
                continue
            if kind not in ("PartitionRecord", "PartitionChangeRecord"):
                continue
            key = (str(message.topicId()), int(message.partitionId()))
            state = (
                java_class("org.apache.kafka.metadata.PartitionRegistration")(message)
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
                    "at_micros": int(record.timestamp()) * MICROS_PER_MS,
                    "topic_id": key[0],
                }
            )
        return rows

    def broker_states(self) -> list[dict[str, Any]]:
        """Return rows of the table `broker_states`, in the order of the log."""
        states: dict[int, dict[str, Any]] = {}
        rows = []
        for _, record, kind, message in self._messages():
            change = _broker_change(kind, message)
            if change is None:
                continue
            broker = change["broker"]
            unknown = {"is_fenced": True, "in_controlled_shutdown": False}
            states[broker] = {**states.get(broker, unknown), **change}
            rows.append(
                {
                    **states[broker],
                    "metadata_offset": int(record.offset()),
                    "at_micros": int(record.timestamp()) * MICROS_PER_MS,
                }
            )
        return rows

    def acls(self) -> list[dict[str, Any]]:
        """Return rows of the table `acls`, in the order of the log."""
        rows: dict[str, dict[str, Any]] = {}
        for _, record, kind, message in self._messages():
            at_micros = int(record.timestamp()) * MICROS_PER_MS
            if kind == "AccessControlEntryRecord":
                metadata_offset = int(record.offset())
                rows[str(message.id())] = {
                    **_entry(message),
                    "metadata_offset": metadata_offset,
                    "at_micros": at_micros,
                }
            elif kind == "RemoveAccessControlEntryRecord":
                rows[str(message.id())]["removed_micros"] = at_micros
        return list(rows.values())

    def _messages(self) -> Iterator[tuple[Any, Any, str, Any]]:
        """Yield each record with its batch, the name of its class, and its message."""
        if not self._records:
            return
        serde = java_class("org.apache.kafka.metadata.MetadataRecordSerde")()
        accessor = java_class("org.apache.kafka.common.protocol.ByteBufferAccessor")
        for batch, record in self._records:
            message = serde.read(accessor(record.value()), record.valueSize()).message()
            yield batch, record, str(message.getClass().getSimpleName()), message

    @staticmethod
    def _end(records: list[tuple[Any, Any]]) -> tuple[int, int]:
        batch, record = records[-1]
        return int(batch.partitionLeaderEpoch()), int(record.offset())


def _entry(message: Any) -> dict[str, str]:
    """Return an access control entry in the names of Kafka's enums."""
    found = {"resource_name": str(message.resourceName()), "principal": str(message.principal())}
    for column, enum, code in (
        ("resource_type", "resource.ResourceType", message.resourceType()),
        ("pattern_type", "resource.PatternType", message.patternType()),
        ("operation", "acl.AclOperation", message.operation()),
        ("permission", "acl.AclPermissionType", message.permissionType()),
    ):
        found[column] = str(java_class(f"org.apache.kafka.common.{enum}").fromCode(code).name())
    return found


def _broker_change(kind: str, message: Any) -> dict[str, Any] | None:
    """Return a record's change of a broker's registration; None if it has none.

    An unregistered broker counts as fenced: it must not be in an ISR either.
    """
    if kind in ("FenceBrokerRecord", "UnfenceBrokerRecord"):
        return {
            "broker": int(message.id()),
            "broker_epoch": int(message.epoch()),
            "is_fenced": kind == "FenceBrokerRecord",
        }
    if kind not in (
        "RegisterBrokerRecord",
        "BrokerRegistrationChangeRecord",
        "UnregisterBrokerRecord",
    ):
        return None
    change: dict[str, Any] = {
        "broker": int(message.brokerId()),
        "broker_epoch": int(message.brokerEpoch()),
    }
    if kind == "RegisterBrokerRecord":
        change["is_fenced"] = bool(message.fenced())
        change["in_controlled_shutdown"] = bool(message.inControlledShutdown())
    elif kind == "UnregisterBrokerRecord":
        change |= {"is_fenced": True, "in_controlled_shutdown": False}
    else:
        fencing = int(message.fenced())
        if fencing in _FENCING_CHANGES:
            change["is_fenced"] = _FENCING_CHANGES[fencing]
        if int(message.inControlledShutdown()):
            change["in_controlled_shutdown"] = True
    return change


def metadata_batches(server: int, in_order: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """Yield rows of the table `metadata_batches`, in the order of a server's log."""
    for batch in in_order:
        yield {
            "server": server,
            "base_offset": int(batch.baseOffset()),
            "last_offset": int(batch.lastOffset()),
            "metadata_epoch": int(batch.partitionLeaderEpoch()),
            "size_bytes": int(batch.sizeInBytes()),
            "checksum": int(batch.checksum()),
            "leader": _elected_leader(batch) if batch.isControlBatch() else None,
            "at_micros": int(batch.maxTimestamp()) * MICROS_PER_MS,
        }


def _elected_leader(batch: Any) -> int | None:
    """Return the controller that a control batch names as the quorum's leader, or None."""
    control = first_java_class(
        "org.apache.kafka.common.record.internal.ControlRecordUtils",
        "org.apache.kafka.common.record.ControlRecordUtils",
    )
    for record in batch:
        if control_kind(record) == "leader_change":
            return int(control.deserializeLeaderChangeMessage(record).leaderId())
    return None
