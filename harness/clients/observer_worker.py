"""The observer: answers in milliseconds who leads what, administers, and decodes.

`python -m harness.clients.observer_worker PLAN`
"""

import sys
from pathlib import Path
from typing import Any

import msgspec

from harness.clients.commands import (
    AnyCommand,
    CreateTopics,
    CutTail,
    Decode,
    Inspect,
    ListBrokers,
    NewTopic,
    PartitionState,
    WorkerPlan,
)
from harness.clients.history import HistoryWriter
from harness.clients.jvm import java_class, java_properties, kafka_version, start_jvm
from harness.clients.worker import Role, read_plan, serve
from harness.contract.errors import WorkerError
from harness.contract.events import Sampled
from harness.decode.logs import cut_tail, decode_segments
from harness.wire.request import Broker, ask

_METADATA_VERSION = 12
_LIST_OFFSETS_VERSION = 7
_EARLIEST, _LATEST = -2, -1
_TIMEOUT_SECONDS = 2.0
_ADMIN_TIMEOUT_MS = "20000"
_ADMIN_REQUEST_TIMEOUT_MS = "10000"


class ObserverRole(Role):
    """Asks single brokers over the wire, and the cluster through Kafka's admin client."""

    client = "admin"

    def __init__(self, plan: WorkerPlan, history: HistoryWriter) -> None:
        """Needs the JVM to run already."""
        self.client_version = kafka_version()
        self._plan = plan
        self._history = history

    def carry_out(self, command: AnyCommand) -> Any:
        """Observe, create topics, cut a tail or decode."""
        match command:
            case ListBrokers(address=address, port=port):
                return self._brokers(Broker(address, port))
            case Inspect():
                return msgspec.to_builtins(self._inspect(command))
            case CreateTopics(topics=topics):
                return self._create_topics(topics)
            case CutTail(folder=folder, records=records):
                return msgspec.to_builtins(cut_tail(Path(folder), records=records))
            case Decode(segments=segments, tables=tables):
                return decode_segments(Path(segments), Path(tables))
            case _:
                raise WorkerError(f"the observer does not know {type(command).__name__}")

    def close(self) -> None:
        """Nothing stays open between commands."""

    def _brokers(self, broker: Broker) -> list[int]:
        """Registered and unfenced brokers in this broker's eyes; none while it can't be reached."""
        try:
            answer = self._metadata(broker, [])
        except OSError:
            return []
        return sorted(int(entry.nodeId()) for entry in answer.brokers())

    def _inspect(self, command: Inspect) -> list[PartitionState]:
        broker = Broker(command.address, command.port)
        try:
            answer = self._metadata(broker, command.topics)
            states = [
                self._state(broker, command.broker, str(topic.name()), partition)
                for topic in answer.topics()
                for partition in topic.partitions()
            ]
        except OSError:
            return []
        for state in states:
            self._history.write(Sampled, broker=command.broker, **msgspec.structs.asdict(state))
        return states

    def _metadata(self, broker: Broker, topics: list[str]) -> Any:
        request = java_class("org.apache.kafka.common.message.MetadataRequestData")()
        request.setAllowAutoTopicCreation(False)
        topic_class = java_class(
            "org.apache.kafka.common.message.MetadataRequestData$MetadataRequestTopic"
        )
        names = java_class("java.util.ArrayList")()
        for topic in topics:
            names.add(topic_class().setName(topic))
        request.setTopics(names)
        return ask(
            broker,
            "METADATA",
            request,
            version=_METADATA_VERSION,
            timeout_seconds=_TIMEOUT_SECONDS,
        )

    def _state(self, broker: Broker, broker_id: int, topic: str, partition: Any) -> PartitionState:
        index, leader = int(partition.partitionIndex()), int(partition.leaderId())
        leads = leader == broker_id
        return PartitionState(
            topic=topic,
            partition=index,
            leader=leader,
            leader_epoch=int(partition.leaderEpoch()),
            isr=sorted(int(replica) for replica in partition.isrNodes()),
            log_start_offset=self._offset(broker, topic, index, _EARLIEST) if leads else -1,
            log_end_offset=self._offset(broker, topic, index, _LATEST) if leads else -1,
        )

    def _offset(self, broker: Broker, topic: str, partition: int, timestamp: int) -> int:
        """The log start or the high watermark, by ListOffsets; -1 where the broker refuses."""
        prefix = "org.apache.kafka.common.message.ListOffsetsRequestData"
        asked = java_class(f"{prefix}$ListOffsetsPartition")()
        asked.setPartitionIndex(partition).setTimestamp(timestamp)
        topic_asked = java_class(f"{prefix}$ListOffsetsTopic")().setName(topic)
        topic_asked.setPartitions(java_class("java.util.List").of(asked))
        request = java_class(prefix)().setReplicaId(-1)
        request.setTopics(java_class("java.util.List").of(topic_asked))
        answer = ask(
            broker,
            "LIST_OFFSETS",
            request,
            version=_LIST_OFFSETS_VERSION,
            timeout_seconds=_TIMEOUT_SECONDS,
        )
        return int(answer.topics().get(0).partitions().get(0).offset())

    def _create_topics(self, topics: list[NewTopic]) -> int:
        admin = java_class("org.apache.kafka.clients.admin.Admin").create(
            java_properties(
                {
                    "bootstrap.servers": self._plan.bootstrap,
                    "default.api.timeout.ms": _ADMIN_TIMEOUT_MS,
                    "request.timeout.ms": _ADMIN_REQUEST_TIMEOUT_MS,
                }
            )
        )
        try:
            created = java_class("java.util.ArrayList")()
            for topic in topics:
                created.add(_new_topic(topic))
            admin.createTopics(created).all().get()
        finally:
            admin.close()
        return len(topics)


def _new_topic(topic: NewTopic) -> Any:
    integer = java_class("java.lang.Integer")
    assignment = java_class("java.util.HashMap")()
    for partition, replicas in enumerate(topic.assignment):
        brokers = java_class("java.util.ArrayList")()
        for replica in replicas:
            brokers.add(integer(replica))
        assignment.put(integer(partition), brokers)
    new_topic = java_class("org.apache.kafka.clients.admin.NewTopic")(topic.topic, assignment)
    config = java_class("java.util.HashMap")()
    for key, value in topic.config.items():
        config.put(key, value)
    return new_topic.configs(config)


def main() -> None:
    """Serve the plan given as the only argument."""
    plan = read_plan(Path(sys.argv[1]))
    history = HistoryWriter(Path(plan.history))
    start_jvm(Path(plan.jars), log=Path(plan.log))
    serve(plan, ObserverRole(plan, history), history, sys.stdin)


if __name__ == "__main__":
    main()
