"""Members of groups, from `__consumer_offsets`."""

from collections.abc import Iterator
from typing import Any

import jpype

from contract.tables import MICROS_PER_MS
from harness.java.jvm import java_class

_CLASSIC, _CLIENT, _CONSUMER = 2, 5, 8
_KEYS = {
    _CLASSIC: "GroupMetadata",
    _CLIENT: "ConsumerGroupMemberMetadata",
    _CONSUMER: "ConsumerGroupCurrentMemberAssignment",
}
"""By the leading number of a key. With the consumer protocol, a member's client has its own."""
_PROTOCOLS = {_CLASSIC: "classic", _CLIENT: "consumer", _CONSUMER: "consumer"}
_PACKAGE = "org.apache.kafka.coordinator.group.generated"

Row = dict[str, Any]


class GroupMembers:
    """Collects the states of members in all replicas; the same record on two brokers counts once.

    Every release that has the consumer protocol has all keys; others have the classic one only.
    """

    def __init__(self) -> None:
        """The JVM must run."""
        self._rows: dict[tuple[int, int, int], list[Row]] = {}
        self._clients: dict[tuple[str, str], str] = {}
        self._accessor = java_class("org.apache.kafka.common.protocol.ByteBufferAccessor")

    def add(self, offsets_partition: int, batch: Any, record: Any) -> None:
        """Add a record of an offsets partition, if it is the state of a member or a classic group.

        Its key is read from its beginning, and left as it was.
        """
        key_bytes = record.key().duplicate()
        kind = int(key_bytes.getShort())
        identity = (offsets_partition, int(record.offset()), int(batch.partitionLeaderEpoch()))
        if kind not in _KEYS or identity in self._rows:
            return
        key = self._read(f"{_KEYS[kind]}Key", key_bytes, kind)
        where = {
            "group": str(key.group() if kind == _CLASSIC else key.groupId()),
            "protocol": _PROTOCOLS[kind],
            "offsets_partition": offsets_partition,
            "offsets_offset": int(record.offset()),
            "at_micros": int(record.timestamp()) * MICROS_PER_MS,
        }
        value = None
        if record.hasValue():
            value_bytes = record.value()
            value = self._read(f"{_KEYS[kind]}Value", value_bytes, int(value_bytes.getShort()))
        if kind == _CLIENT:
            if value is not None:
                member = (str(key.groupId()), str(key.memberId()))
                self._clients[member] = str(value.clientId())
            return
        found = _classic(value) if kind == _CLASSIC else _consumer(str(key.memberId()), value)
        self._rows[identity] = [where | row for row in found]

    def _read(self, name: str, content: Any, version: int) -> Any:
        """Return a key or value; a key's number became its type, and its version 0, in Kafka 4."""
        message = java_class(f"{_PACKAGE}.{name}")
        highest = int(message.HIGHEST_SUPPORTED_VERSION)
        return message(self._accessor(content), jpype.JShort(min(version, highest)))

    def rows(self) -> list[Row]:
        """Return rows of the table `group_members`."""
        return [row for identity in sorted(self._rows) for row in self._rows[identity]]

    def client_ids(self) -> list[Row]:
        """Return rows of the table of that name."""
        return [
            {"group": group, "member": member, "client_id": client_id}
            for (group, member), client_id in sorted(self._clients.items())
        ]


def _classic(value: Any) -> Iterator[Row]:
    """The members of a generation; a deleted group has no generation."""
    if value is None:
        yield {"member": ""}
        return
    generation = int(value.generation())
    for member in value.members():
        yield {"member": str(member.memberId()), "generation": generation}
    if value.members().isEmpty():
        yield {"member": "", "generation": generation}


def _consumer(member: str, value: Any) -> Iterator[Row]:
    """The partitions of a member, those that it still has to revoke too."""
    if value is None:
        yield {"member": member}
        return
    state = {"member": member, "generation": int(value.memberEpoch())}
    held = [*_assigned_rows(value.assignedPartitions())]
    held += _assigned_rows(value.partitionsPendingRevocation())
    yield from ({**state, **partition} for partition in held or [{}])


def _assigned_rows(topics: Any) -> Iterator[Row]:
    for topic in topics or ():
        epochs = list(topic.assignmentEpochs() or ()) if hasattr(topic, "assignmentEpochs") else []
        for place, partition in enumerate(topic.partitions()):
            yield {
                "topic_id": str(topic.topicId()),
                "partition": int(partition),
                "assignment_epoch": int(epochs[place]) if place < len(epochs) else None,
            }
