"""The Java consumer under test (`org.apache.kafka.clients.consumer.KafkaConsumer`)."""

from typing import Any

import jpype

from harness.clients.jvm import exception_name, java_class, java_properties
from harness.clients.member import POLL_MS, POSITION_MS, Batch, Failure, GroupMember, Partition
from harness.contract.clients import Client
from harness.contract.events import NO_EPOCH
from harness.contract.outcomes import CommitEpoch

_STRING_DESERIALIZER = "org.apache.kafka.common.serialization.StringDeserializer"
_CONSUMER_PROTOCOL = {"group.protocol": "consumer"}


class JavaMember(GroupMember):
    """A consumer with the classic group protocol, or with KIP-848's for client java-consumer."""

    failures = (jpype.JException,)

    def positions_to_commit(self) -> tuple[Any, Any]:
        """Its positions and its group's metadata, as `sendOffsetsToTransaction` takes them."""
        positions = java_class("java.util.HashMap")()
        for partition in self._consumer.assignment():
            at = self._consumer.position(partition, _millis(POSITION_MS))
            epoch = self._last_epochs.get(_partition(partition), NO_EPOCH)
            positions.put(partition, _offset_and_metadata(int(at), epoch))
        return positions, self._consumer.groupMetadata()

    def _open(self, bootstrap: str) -> None:
        is_kip_848 = self.member.client == Client.JAVA_CONSUMER
        self._consumer = java_class("org.apache.kafka.clients.consumer.KafkaConsumer")(
            java_properties(
                {
                    "bootstrap.servers": bootstrap,
                    "group.id": self.member.group,
                    "client.id": self.member.member,
                    "auto.offset.reset": self.member.reset,
                    "isolation.level": self.member.isolation,
                    "enable.auto.commit": "false",
                    "default.api.timeout.ms": "30000",
                    "request.timeout.ms": "10000",
                    "key.deserializer": _STRING_DESERIALIZER,
                    "value.deserializer": _STRING_DESERIALIZER,
                    **(_CONSUMER_PROTOCOL if is_kip_848 else {}),
                }
            )
        )
        self._consumer.subscribe(java_class("java.util.List").of(self.member.topic))

    def _fetch(self) -> list[Batch]:
        records = self._consumer.poll(_millis(POLL_MS))
        return [_batch(tp, records.records(tp)) for tp in records.partitions()]

    def _assignment(self) -> set[Partition]:
        return {_partition(tp) for tp in self._consumer.assignment()}

    def _position(self, partition: Partition) -> int | None:
        try:
            return int(self._consumer.position(_topic_partition(partition), _millis(POSITION_MS)))
        except java_class("org.apache.kafka.common.errors.TimeoutException"):
            return None

    def _commit(
        self, partition: Partition, style: CommitEpoch, offset: int, epoch: int
    ) -> str | None:
        try:
            if style is CommitEpoch.RECORD:
                self._consumer.commitSync()
            else:
                self._consumer.commitSync(
                    java_class("java.util.Map").of(
                        _topic_partition(partition), _offset_and_metadata(offset, epoch)
                    )
                )
        except jpype.JException as error:
            return exception_name(error)
        return None

    def _close(self) -> None:
        self._consumer.close()

    def _failure(self, error: Any) -> Failure:
        name = exception_name(error)
        message = str(error.getMessage())
        for partition, divergent in _truncated(error, name).items():
            topic, number = partition
            if divergent is None:
                return Failure(exception=name, message=message, topic=topic, partition=number)
            return Failure(
                exception=name,
                message=message,
                topic=topic,
                partition=number,
                divergent_offset=int(divergent.offset()),
                divergent_epoch=int(divergent.leaderEpoch().orElse(NO_EPOCH)),
            )
        return Failure(exception=name, message=message)


def _batch(topic_partition: Any, records: Any) -> Batch:
    return Batch(
        partition=_partition(topic_partition),
        offsets=[int(record.offset()) for record in records],
        epochs=[int(record.leaderEpoch().orElse(NO_EPOCH)) for record in records],
        values=[str(record.value()) for record in records],
    )


def _truncated(error: Any, name: str) -> dict[Partition, Any]:
    """The partitions of which a poll's exception speaks, with the divergent offset if known."""
    if name == "LogTruncationException":
        divergent = error.divergentOffsets()
        return {
            _partition(tp): divergent.get(tp) for tp in error.offsetOutOfRangePartitions().keySet()
        }
    if name == "OffsetOutOfRangeException":
        return {_partition(tp): None for tp in error.offsetOutOfRangePartitions().keySet()}
    if name == "NoOffsetForPartitionException":
        return {_partition(tp): None for tp in error.partitions()}
    return {}


def _partition(topic_partition: Any) -> Partition:
    return str(topic_partition.topic()), int(topic_partition.partition())


def _topic_partition(partition: Partition) -> Any:
    return java_class("org.apache.kafka.common.TopicPartition")(*partition)


def _offset_and_metadata(offset: int, epoch: int) -> Any:
    optional = java_class("java.util.Optional")
    leader_epoch = (
        optional.empty()
        if epoch == NO_EPOCH
        else optional.of(java_class("java.lang.Integer")(epoch))
    )
    return java_class("org.apache.kafka.clients.consumer.OffsetAndMetadata")(
        offset, leader_epoch, ""
    )


def _millis(millis: int) -> Any:
    return java_class("java.time.Duration").ofMillis(millis)
