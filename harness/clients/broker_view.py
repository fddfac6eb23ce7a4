"""All that one broker knows of its cluster: partitions, and the groups that it coordinates."""

from typing import Any

import msgspec

from contract.events import NO_EPOCH
from harness.clients.admin import ListedOffset, MemberView
from harness.clients.views import PartitionState, response_of
from harness.java.jvm import java_class, java_list
from harness.wire.request import Broker

_MESSAGES = "org.apache.kafka.common.message"
_CLASSIC, _CONSUMER = "classic", "consumer"
_NO_OFFSET = -1


class GroupState(msgspec.Struct, frozen=True, kw_only=True):
    """A consumer group as its coordinator reports it; type and state are Kafka's.

    commits: of each partition that it has a committed offset of.
    """

    group: str
    coordinator: int
    type: str
    state: str
    members: list[MemberView]
    commits: list[ListedOffset]


class BrokerView(msgspec.Struct, frozen=True, kw_only=True):
    """What a broker returns at one moment.

    partitions: of all topics but internal ones.
    groups: those that it coordinates.
    """

    broker: int
    partitions: list[PartitionState]
    groups: list[GroupState]


def group_states_seen_by(broker: Broker) -> dict[str, str]:
    """Return the state of each group that a broker coordinates, by one request.

    Raises:
        OSError: it can't be reached.
    """
    return {str(group.groupId()): str(group.groupState()) for group in _listed(broker)}


def groups_seen_by(broker: Broker, broker_id: int) -> list[GroupState]:
    """Return the consumer groups that a broker coordinates, by requests to it alone.

    Raises:
        OSError: it can't be reached.
    """
    types = {str(group.groupId()): str(group.groupType()).lower() for group in _listed(broker)}
    found = {
        **_describe_groups(broker, [name for name, kind in types.items() if kind == _CLASSIC]),
        **_described_consumers(broker, [name for name, kind in types.items() if kind == _CONSUMER]),
    }
    commits = _commits(broker, list(found))
    return [
        GroupState(
            group=name,
            coordinator=broker_id,
            type=types[name],
            state=state,
            members=members,
            commits=commits.get(name, []),
        )
        for name, (state, members) in sorted(found.items())
    ]


def _listed(broker: Broker) -> Any:
    request = java_class(f"{_MESSAGES}.ListGroupsRequestData")()
    return response_of(broker, "LIST_GROUPS", request).groups()


_Described = dict[str, tuple[str, list[MemberView]]]
"""By group: its state and members."""


def _describe_groups(broker: Broker, groups: list[str]) -> _Described:
    """Describe groups of the classic protocol, whose members' assignments are bytes of theirs."""
    if not groups:
        return {}
    request = java_class(f"{_MESSAGES}.DescribeGroupsRequestData")().setGroups(java_list(groups))
    return {
        str(group.groupId()): (
            str(group.groupState()),
            [
                MemberView(
                    member=str(member.memberId()),
                    client=str(member.clientId()),
                    partitions=_assigned_partitions(member.memberAssignment()),
                )
                for member in group.members()
            ],
        )
        for group in response_of(broker, "DESCRIBE_GROUPS", request).groups()
    }


def _assigned_partitions(assignment: Any) -> list[str]:
    if not len(assignment):
        return []
    protocol = java_class("org.apache.kafka.clients.consumer.internals.ConsumerProtocol")
    wrapped = java_class("java.nio.ByteBuffer").wrap(assignment)
    return sorted(
        str(partition) for partition in protocol.deserializeAssignment(wrapped).partitions()
    )


def _described_consumers(broker: Broker, groups: list[str]) -> _Described:
    """Describe groups of the consumer protocol (KIP-848)."""
    if not groups:
        return {}
    request = java_class(f"{_MESSAGES}.ConsumerGroupDescribeRequestData")()
    request.setGroupIds(java_list(groups))
    return {
        str(group.groupId()): (
            str(group.groupState()),
            [
                MemberView(
                    member=str(member.memberId()),
                    client=str(member.clientId()),
                    partitions=sorted(
                        f"{topic.topicName()}-{partition}"
                        for topic in member.assignment().topicPartitions()
                        for partition in topic.partitions()
                    ),
                )
                for member in group.members()
            ],
        )
        for group in response_of(broker, "CONSUMER_GROUP_DESCRIBE", request).groups()
    }


def _commits(broker: Broker, groups: list[str]) -> dict[str, list[ListedOffset]]:
    if not groups:
        return {}
    prefix = f"{_MESSAGES}.OffsetFetchRequestData"
    wanted = [
        java_class(f"{prefix}$OffsetFetchRequestGroup")().setGroupId(name).setTopics(None)
        for name in groups
    ]
    request = java_class(prefix)().setGroups(java_list(wanted))
    return {
        str(group.groupId()): sorted(
            (
                ListedOffset(
                    topic=str(topic.name()),
                    partition=int(partition.partitionIndex()),
                    offset=int(partition.committedOffset()),
                    epoch=max(int(partition.committedLeaderEpoch()), NO_EPOCH),
                )
                for topic in group.topics()
                for partition in topic.partitions()
                if int(partition.committedOffset()) != _NO_OFFSET
            ),
            key=lambda commit: (commit.topic, commit.partition),
        )
        for group in response_of(broker, "OFFSET_FETCH", request).groups()
    }
