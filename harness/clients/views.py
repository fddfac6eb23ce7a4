"""Requests to single brokers, by Kafka's own message classes."""

from collections.abc import Iterable
from typing import Any

import msgspec

from harness.java.jvm import java_class, java_list
from harness.wire.request import Broker, ask

_VERSIONS = {
    "METADATA": 12,
    "LIST_OFFSETS": 7,
    "DESCRIBE_QUORUM": 0,
    "FIND_COORDINATOR": 4,
    "LIST_GROUPS": 5,
    "DESCRIBE_GROUPS": 5,
    "CONSUMER_GROUP_DESCRIBE": 0,
    "OFFSET_FETCH": 8,
}
_INTERNAL = "__"
"""Names of internal topics begin so."""
_GROUP, _TRANSACTION = 0, 1
_EARLIEST, _LATEST = -2, -1
_NO_ERROR = 0
_TIMEOUT_SECONDS = 2.0
_MESSAGES = "org.apache.kafka.common.message"
_METADATA_TOPIC = "__cluster_metadata"

Partition = tuple[str, int]


class PartitionState(msgspec.Struct, frozen=True, kw_only=True):
    """One broker's view of one partition; log bounds are -1 unless that broker leads it."""

    topic: str
    partition: int
    leader: int
    leader_epoch: int
    isr: list[int]
    log_start_offset: int
    log_end_offset: int


class QuorumState(msgspec.Struct, frozen=True, kw_only=True):
    """The metadata quorum according to its leader.

    log_ends: by voter, as far as it has fetched; -1: not yet. The leader's own is its log's end.
    high_watermark: -1 until an entry of the epoch is committed.
    """

    leader: int
    leader_epoch: int
    high_watermark: int
    log_ends: dict[int, int]
    observers: list[int]


def brokers_seen_by(broker: Broker) -> list[int]:
    """Return the registered, unfenced brokers according to this broker, by id.

    Raises:
        OSError: it can't be reached.
    """
    return sorted(int(entry.nodeId()) for entry in _metadata(broker, []).brokers())


def partitions_seen_by(broker: Broker, broker_id: int, topics: list[str]) -> list[PartitionState]:
    """Return all partitions of topics according to this broker, with the log bounds where it leads.

    Raises:
        OSError: it can't be reached.
    """
    return _partitions(broker, broker_id, _metadata(broker, topics).topics())


def all_partitions_seen_by(broker: Broker, broker_id: int) -> list[PartitionState]:
    """Return the partitions of all topics but internal ones, as `partitions_seen_by` does.

    Raises:
        OSError: it can't be reached.
    """
    topics = _metadata(broker, None).topics()
    own = [topic for topic in topics if not is_internal(str(topic.name()))]
    return sorted(
        _partitions(broker, broker_id, own),
        key=lambda partition: (partition.topic, partition.partition),
    )


def is_internal(topic: str) -> bool:
    """Whether a topic is one of Kafka's own."""
    return topic.startswith(_INTERNAL)


def _partitions(broker: Broker, broker_id: int, topics: Iterable[Any]) -> list[PartitionState]:
    seen = {
        (str(topic.name()), int(partition.partitionIndex())): partition
        for topic in topics
        for partition in topic.partitions()
    }
    led = {
        key: int(partition.leaderEpoch())
        for key, partition in seen.items()
        if int(partition.leaderId()) == broker_id
    }
    starts = _offsets(broker, led, _EARLIEST)
    ends = _offsets(broker, led, _LATEST)
    return [
        PartitionState(
            topic=key[0],
            partition=key[1],
            leader=int(partition.leaderId()),
            leader_epoch=int(partition.leaderEpoch()),
            isr=sorted(int(replica) for replica in partition.isrNodes()),
            log_start_offset=starts.get(key, -1),
            log_end_offset=ends.get(key, -1),
        )
        for key, partition in seen.items()
    ]


def topic_id_seen_by(broker: Broker, topic: str) -> str:
    """Return a topic's id according to this broker; empty if it does not know the topic.

    Raises:
        OSError: it can't be reached.
    """
    (found,) = _metadata(broker, [topic]).topics()
    return str(found.topicId()) if found.errorCode() == _NO_ERROR else ""


def controller_seen_by(broker: Broker) -> int:
    """Return the leader of the metadata quorum, requested through this broker; -1 if there is none.

    Raises:
        OSError: it can't be reached.
    """
    found = _describe_quorum(broker)
    return -1 if found is None else int(found.leaderId())


def quorum_seen_by(controller: Broker) -> QuorumState | None:
    """Return the metadata quorum according to a controller; None if it does not lead it.

    Raises:
        OSError: it can't be reached.
    """
    found = _describe_quorum(controller)
    if found is None or found.errorCode() != _NO_ERROR:
        return None
    return QuorumState(
        leader=int(found.leaderId()),
        leader_epoch=int(found.leaderEpoch()),
        high_watermark=int(found.highWatermark()),
        log_ends={
            int(voter.replicaId()): int(voter.logEndOffset()) for voter in found.currentVoters()
        },
        observers=sorted(int(observer.replicaId()) for observer in found.observers()),
    )


def _describe_quorum(server: Broker) -> Any:
    """Return what a server's DescribeQuorum response says of the metadata log; None if nothing."""
    partition = java_class(f"{_MESSAGES}.DescribeQuorumRequestData$PartitionData")()
    topic = java_class(f"{_MESSAGES}.DescribeQuorumRequestData$TopicData")()
    topic.setTopicName(_METADATA_TOPIC).setPartitions(java_list([partition.setPartitionIndex(0)]))
    request = java_class(f"{_MESSAGES}.DescribeQuorumRequestData")().setTopics(java_list([topic]))
    answer = response_of(server, "DESCRIBE_QUORUM", request)
    return None if answer.topics().isEmpty() else answer.topics().get(0).partitions().get(0)


def coordinator_seen_by(broker: Broker, key: str, *, of_transactions: bool) -> int:
    """Return the coordinator of a consumer group or of a transactional.id; -1 if there is none.

    Raises:
        OSError: the broker can't be reached.
    """
    request = java_class(f"{_MESSAGES}.FindCoordinatorRequestData")()
    request.setKeyType(_TRANSACTION if of_transactions else _GROUP)
    request.setCoordinatorKeys(java_list([key]))
    answer = response_of(broker, "FIND_COORDINATOR", request)
    return int(answer.coordinators().get(0).nodeId())


def _metadata(broker: Broker, topics: list[str] | None) -> Any:
    """Ask for brokers and for topics; None: all of them."""
    request = java_class(f"{_MESSAGES}.MetadataRequestData")()
    request.setAllowAutoTopicCreation(False)
    wanted = java_class(f"{_MESSAGES}.MetadataRequestData$MetadataRequestTopic")
    names = None if topics is None else java_list([wanted().setName(topic) for topic in topics])
    request.setTopics(names)
    return response_of(broker, "METADATA", request)


def _offsets(broker: Broker, led: dict[Partition, int], timestamp: int) -> dict[Partition, int]:
    """Return log starts or high watermarks, by ListOffsets; -1 where the broker refuses.

    `led` has leader epochs: a broker refuses if its own epoch differs, so that each result belongs
        to the requested epoch.
    """
    if not led:
        return {}
    prefix = f"{_MESSAGES}.ListOffsetsRequestData"
    by_topic: dict[str, list[Any]] = {}
    for (topic, partition), epoch in led.items():
        asked = java_class(f"{prefix}$ListOffsetsPartition")()
        asked.setPartitionIndex(partition).setTimestamp(timestamp).setCurrentLeaderEpoch(epoch)
        by_topic.setdefault(topic, []).append(asked)
    topics = [
        java_class(f"{prefix}$ListOffsetsTopic")().setName(topic).setPartitions(java_list(asked))
        for topic, asked in by_topic.items()
    ]
    request = java_class(prefix)().setReplicaId(-1).setTopics(java_list(topics))
    answer = response_of(broker, "LIST_OFFSETS", request)
    return {
        (str(topic.name()), int(partition.partitionIndex())): int(partition.offset())
        for topic in answer.topics()
        for partition in topic.partitions()
    }


def response_of(broker: Broker, api: str, request: Any) -> Any:
    """Send a request at the version that all supported brokers have; returns its response.

    Raises:
        OSError: the broker can't be reached.
    """
    return ask(broker, api, request, version=_VERSIONS[api], timeout_seconds=_TIMEOUT_SECONDS)
