"""Members of groups, from `__consumer_offsets`."""

from collections.abc import Iterable, Iterator
from typing import Any

import jpype

from contract.tables import MICROS_PER_MS
from harness.java.jvm import java_class

_CLASSIC, _GROUP, _CLIENT, _TARGET_EPOCH, _TARGET, _CURRENT = 2, 3, 5, 6, 7, 8
_KEYS = {
    _CLASSIC: "GroupMetadata",
    _GROUP: "ConsumerGroupMetadata",
    _CLIENT: "ConsumerGroupMemberMetadata",
    _TARGET_EPOCH: "ConsumerGroupTargetAssignmentMetadata",
    _TARGET: "ConsumerGroupTargetAssignmentMember",
    _CURRENT: "ConsumerGroupCurrentMemberAssignment",
}
"""By the leading number of a key; all but the first are of the consumer protocol."""
_PACKAGE = "org.apache.kafka.coordinator.group"
_PROTOCOL = "org.apache.kafka.clients.consumer.internals.ConsumerProtocol"

TABLES = (
    "group_members",
    "member_metadata",
    "subscriptions",
    "member_states",
    "group_assignments",
    "group_epochs",
)

Row = dict[str, Any]


class GroupMembers:
    """Collects the states of members in all replicas; the same record on two brokers counts once.

    Every release that has the consumer protocol has all keys; others have the classic one only.
    """

    def __init__(self) -> None:
        """The JVM must run."""
        self._rows: dict[tuple[int, int, int], list[tuple[str, Row]]] = {}
        self._accessor = java_class("org.apache.kafka.common.protocol.ByteBufferAccessor")

    def add(self, offsets_partition: int, batch: Any, record: Any) -> None:
        """Add a record of an offsets partition, if it is of a group or its members.

        Its key is read from its beginning, and left as it was.
        """
        key_bytes = record.key().duplicate()
        kind = int(key_bytes.getShort())
        identity = (offsets_partition, int(record.offset()), int(batch.partitionLeaderEpoch()))
        if kind not in _KEYS or identity in self._rows:
            return
        key = self._read(f"{_KEYS[kind]}Key", key_bytes, kind)
        group = {"group": str(key.group() if kind == _CLASSIC else key.groupId())}
        place = group | {
            "offsets_partition": offsets_partition,
            "offsets_offset": int(record.offset()),
            "at_micros": int(record.timestamp()) * MICROS_PER_MS,
        }
        value = None
        if record.hasValue():
            value_bytes = record.value()
            value = self._read(f"{_KEYS[kind]}Value", value_bytes, int(value_bytes.getShort()))
        if kind == _CLASSIC:
            found = _classic(group, place | {"protocol": "classic"}, value)
        elif kind in (_GROUP, _TARGET_EPOCH):
            found = _epoch(place, value)
        else:
            member = {"member": str(key.memberId())}
            found = _OF_MEMBERS[kind](group | member, place | member, value)
        self._rows[identity] = list(found)

    def _read(self, name: str, content: Any, version: int) -> Any:
        """Return a key or value; a key's number became its type, and its version 0, in Kafka 4."""
        message = java_class(f"{_PACKAGE}.generated.{name}")
        highest = int(message.HIGHEST_SUPPORTED_VERSION)
        return message(self._accessor(content), jpype.JShort(min(version, highest)))

    def rows(self, table: str) -> list[Row]:
        """Return rows of one of `TABLES`, those without a place in the log once each."""
        found = (
            row for identity in sorted(self._rows) for name, row in self._rows[identity]
            if name == table
        )  # fmt: skip
        if table not in ("member_metadata", "subscriptions"):
            return list(found)
        return list({tuple(row.items()): row for row in found}.values())


_Found = Iterator[tuple[str, Row]]


def _classic(group: Row, place: Row, value: Any) -> _Found:
    """The members of a generation; a deleted group has no generation."""
    generation = {} if value is None else {"generation": int(value.generation())}
    if value is None or value.members().isEmpty():
        yield "group_members", place | {"member": ""} | generation
        yield "group_assignments", place | {"member": ""}
        return
    is_consumer = str(value.protocolType()) == "consumer"
    for stored in value.members():
        member = {"member": str(stored.memberId())}
        yield "group_members", place | member | generation
        yield from _metadata(
            group | member,
            client_id=stored.clientId(),
            instance_id=stored.groupInstanceId(),
            session_ms=int(stored.sessionTimeout()),
            rebalance_ms=int(stored.rebalanceTimeout()),
        )
        subscription = _deserialized("Subscription", stored.subscription()) if is_consumer else None
        yield from _subscribed(group | member, subscription and subscription.topics())
        assignment = _deserialized("Assignment", stored.assignment()) if is_consumer else None
        held = [
            {"topic": str(one.topic()), "partition": int(one.partition())}
            for one in (assignment.partitions() if assignment else ())
        ]
        yield from (("group_assignments", place | member | one) for one in held or [{}])


def _deserialized(what: str, content: Any) -> Any:
    """What a client wrote for the others of its group; None where it can't be read."""
    if not len(content):
        return None
    wrapped = java_class("java.nio.ByteBuffer").wrap(content)
    try:
        return getattr(java_class(_PROTOCOL), f"deserialize{what}")(wrapped)
    except jpype.JException:
        return None


def _metadata(member: Row, *, client_id: Any, instance_id: Any, **limits: int) -> _Found:
    """Limits below 0 are none."""
    known = {name: ms for name, ms in limits.items() if ms >= 0}
    instance = None if instance_id is None else str(instance_id)
    yield "member_metadata", member | {
        "client_id": str(client_id), "instance_id": instance, **known
    }  # fmt: skip


def _subscribed(member: Row, topics: Iterable[Any] | None) -> _Found:
    for topic in topics or (None,):
        yield "subscriptions", member | {"topic": None if topic is None else str(topic)}


def _client(member: Row, _place: Row, value: Any) -> _Found:
    """A member's client; one of the classic protocol may be in the group, too (KIP-848)."""
    if value is None:
        return
    classic = value.classicMemberMetadata()
    yield from _metadata(
        member,
        client_id=value.clientId(),
        instance_id=value.instanceId(),
        session_ms=-1 if classic is None else int(classic.sessionTimeoutMs()),
        rebalance_ms=int(value.rebalanceTimeoutMs()),
    )
    yield from _subscribed(member, value.subscribedTopicNames())


def _epoch(place: Row, value: Any) -> _Found:
    """Of a group, or of its assignment."""
    if value is not None:
        is_group = hasattr(value, "epoch")
        epoch = int(value.epoch() if is_group else value.assignmentEpoch())
        yield "group_epochs", place | {"epoch": epoch, "is_of_assignment": not is_group}


def _target(_member: Row, place: Row, value: Any) -> _Found:
    """The partitions that a member is to have."""
    held = [] if value is None else [*_assigned_rows(value.topicPartitions())]
    place = place | {"protocol": "consumer"}
    yield from (("group_assignments", place | partition) for partition in held or [{}])


def _current(member: Row, place: Row, value: Any) -> _Found:
    """The partitions of a member, those that it still has to revoke too, and its state."""
    place = place | {"protocol": "consumer"}
    if value is None:
        yield "group_members", place
        return
    held = [*_assigned_rows(value.assignedPartitions())]
    pending = [*_assigned_rows(value.partitionsPendingRevocation())]
    generation = {"generation": int(value.memberEpoch())}
    yield from (("group_members", place | generation | one) for one in held + pending or [{}])
    state = member | {
        "state": str(java_class(f"{_PACKAGE}.modern.MemberState").fromValue(value.state())),
        "previous_epoch": int(value.previousMemberEpoch()),
        "offsets_partition": place["offsets_partition"],
        "offsets_offset": place["offsets_offset"],
    }
    for partition in pending or [{}]:
        yield (
            "member_states",
            state | {name: partition.get(name) for name in ("topic_id", "partition")},
        )


_OF_MEMBERS = {_CLIENT: _client, _TARGET: _target, _CURRENT: _current}


def _assigned_rows(topics: Any) -> Iterator[Row]:
    for topic in topics or ():
        epochs = list(topic.assignmentEpochs() or ()) if hasattr(topic, "assignmentEpochs") else []
        for place, partition in enumerate(topic.partitions()):
            row = {"topic_id": str(topic.topicId()), "partition": int(partition)}
            yield row | ({"assignment_epoch": int(epochs[place])} if place < len(epochs) else {})
