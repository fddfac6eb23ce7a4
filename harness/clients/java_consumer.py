"""The Java consumer under test (`org.apache.kafka.clients.consumer.KafkaConsumer`)."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import jpype

from contract.clients import Client
from contract.events import NO_EPOCH
from contract.outcomes import DEFINITE_COMMIT_FAILURES
from harness.clients.commit_styles import ClientState, OffsetAndEpoch
from harness.clients.member import POLL_MS, POSITION_MS, Batch, Failure, GroupMember, Partition
from harness.java.jvm import exception_name, java_class, java_properties, private_field

_STRING_DESERIALIZER = "org.apache.kafka.common.serialization.StringDeserializer"
_CONSUMER_PROTOCOL = {"group.protocol": "consumer"}
_COOPERATIVE = "CooperativeStickyAssignor"


class JavaMember(GroupMember):
    """A consumer with the classic group protocol, or for client java-consumer with KIP-848's."""

    failures = (jpype.JException,)
    definite_failures = DEFINITE_COMMIT_FAILURES
    tells_its_state: ClassVar[bool] = True

    def positions_to_commit(self) -> tuple[Any, Any]:
        """Return what it processed and its group's metadata, for `sendOffsetsToTransaction`.

        `KafkaConsumer.position` has no epoch, and may lie beyond records that are not delivered,
        such as aborted ones and markers: the last record's epoch is not the one that belongs to it.
        """
        offsets = java_class("java.util.HashMap")()
        for tp, at in self.processed().items():
            offsets.put(java_partition(tp), java_offset(at))
        return offsets, self._consumer.groupMetadata()

    def received(self, brokers: Iterable[int]) -> dict[str, int]:
        """Return the bytes received from brokers so far; may be called from any thread.

        They are the consumer's own metrics. The coordinator's connection has a node id
        of its own, so it does not count.
        Source: `Selector.SelectorMetrics`, `ConsumerCoordinator`.
        """
        metrics = self._consumer.metrics()
        return {str(broker): self._received(metrics, broker) for broker in brokers}

    def _received(self, metrics: Any, broker: int) -> int:
        tags = java_class("java.util.HashMap")()
        tags.put("client-id", self.member.member)
        tags.put("node-id", f"node-{broker}")
        name = java_class("org.apache.kafka.common.MetricName")(
            "incoming-byte-total", "consumer-node-metrics", "", tags
        )
        metric = metrics.get(name)
        return 0 if metric is None else int(metric.metricValue())

    def _open(self, bootstrap: str) -> None:
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
                    **(_CONSUMER_PROTOCOL if self.member.client == Client.JAVA_CONSUMER else {}),
                    **self._settings(),
                    **{name: str(value) for name, value in self.member.settings.items()},
                }
            )
        )
        delegate = private_field(self._consumer, "delegate")
        self._subscriptions = private_field(delegate, "subscriptions")
        self._metadata = private_field(delegate, "metadata")
        topics = java_class("java.util.List").of(self.member.topic)
        listener = self._listener()
        if listener is None:
            self._consumer.subscribe(topics)
        else:
            self._consumer.subscribe(topics, listener)

    def _listener(self) -> Any:
        """Return a `ConsumerRebalanceListener`; None for none."""
        return None

    def _settings(self) -> dict[str, str]:
        """Return settings that differ from those of other members."""
        return {}

    def _fetch(self) -> list[Batch]:
        records = self._consumer.poll(_millis(POLL_MS))
        following = _following(records)
        return [
            _batch(tp, records.records(tp), following.get(partition_of(tp)))
            for tp in records.partitions()
        ]

    def _assignment(self) -> set[Partition]:
        return {partition_of(tp) for tp in self._consumer.assignment()}

    def _position(self, partition: Partition) -> int | None:
        try:
            return int(self._consumer.position(java_partition(partition), _millis(POSITION_MS)))
        except java_class("org.apache.kafka.common.errors.TimeoutException"):
            return None

    def _commit(
        self, positions: Mapping[Partition, OffsetAndEpoch], *, is_plain: bool
    ) -> dict[Partition, str]:
        try:
            if is_plain:
                self._consumer.commitSync()
            elif positions:
                offsets = java_class("java.util.HashMap")()
                for tp, at in positions.items():
                    offsets.put(java_partition(tp), java_offset(at))
                self._consumer.commitSync(offsets)
        except jpype.JException as error:
            return dict.fromkeys(positions, exception_name(error))
        return {}

    def _states(self, partitions: Iterable[Partition]) -> dict[Partition, ClientState]:
        """Read the consumer's own fields, which sends and validates nothing.

        A plain commit takes the positions of `SubscriptionState.allConsumed`.
        """
        leaders = {tp: self._leader_epoch(java_partition(tp)) for tp in partitions}
        consumed = self._subscriptions.allConsumed()
        return {tp: self._state(java_partition(tp), consumed, leaders[tp]) for tp in leaders}

    def _leader_epoch(self, topic_partition: Any) -> int:
        position = self._subscriptions.positionOrNull(topic_partition)
        leader = None if position is None else private_field(position, "currentLeader")
        return NO_EPOCH if leader is None else _number(leader.epoch)

    def _state(self, topic_partition: Any, consumed: Any, leader_epoch: int) -> ClientState:
        valid = consumed.get(topic_partition)
        return ClientState(
            position=None if valid is None else _offset_and_epoch(valid),
            leader_epoch=leader_epoch,
            metadata_epoch=_number(self._metadata.currentLeader(topic_partition).epoch),
        )

    def _generation(self) -> int:
        return int(self._consumer.groupMetadata().generationId())

    def _is_eager(self) -> bool:
        assignors = str(self.member.settings.get("partition.assignment.strategy", ""))
        return self.member.client != Client.JAVA_CONSUMER and _COOPERATIVE not in assignors

    def _close(self) -> None:
        self._consumer.close()

    def _failure(self, error: Any) -> Failure:
        name = exception_name(error)
        known: dict[str, Any] = {"exception": name, "message": str(error.getMessage())}
        for topic_partition in _failed_partitions(error, name)[:1]:
            topic, number = partition_of(topic_partition)
            known |= {"topic": topic, "partition": number}
            position = self._subscriptions.positionOrNull(topic_partition)
            if position is not None:
                epoch = _number(private_field(position, "offsetEpoch"))
                known |= {"position": int(position.offset), "position_epoch": epoch}
            divergent = _divergent(error, name, topic_partition)
            if divergent is not None:
                at = _offset_and_epoch(divergent)
                known |= {"divergent_offset": at.offset, "divergent_epoch": at.epoch}
        return Failure(**known)


def _following(records: Any) -> dict[Partition, OffsetAndEpoch]:
    """Return `ConsumerRecords.nextOffsets`, which Kafka has since 4.0 (KIP-1094)."""
    if not hasattr(records, "nextOffsets"):
        return {}
    following = records.nextOffsets()
    return {partition_of(tp): _offset_and_epoch(following.get(tp)) for tp in following.keySet()}


def _batch(topic_partition: Any, records: Any, following: OffsetAndEpoch | None) -> Batch:
    return Batch(
        partition=partition_of(topic_partition),
        offsets=[int(record.offset()) for record in records],
        epochs=[_number(record.leaderEpoch()) for record in records],
        values=[str(record.value()) for record in records],
        following=following,
    )


def _failed_partitions(error: Any, name: str) -> list[Any]:
    """Return the partitions that a poll's exception names."""
    if name in ("LogTruncationException", "OffsetOutOfRangeException"):
        return list(error.offsetOutOfRangePartitions().keySet())
    if name == "NoOffsetForPartitionException":
        return list(error.partitions())
    return []


def _divergent(error: Any, name: str, topic_partition: Any) -> Any:
    """Return a partition's divergent offset and epoch from a LogTruncationException."""
    if name != "LogTruncationException":
        return None
    return error.divergentOffsets().get(topic_partition)


def partition_of(topic_partition: Any) -> Partition:
    """Return topic and number of a `TopicPartition`."""
    return str(topic_partition.topic()), int(topic_partition.partition())


def java_partition(partition: Partition) -> Any:
    """Return a `TopicPartition`."""
    return java_class("org.apache.kafka.common.TopicPartition")(*partition)


def java_offset(at: OffsetAndEpoch) -> Any:
    """Return an `OffsetAndMetadata`, without an epoch where there is none."""
    optional = java_class("java.util.Optional")
    leader_epoch = (
        optional.empty()
        if at.epoch == NO_EPOCH
        else optional.of(java_class("java.lang.Integer")(at.epoch))
    )
    return java_class("org.apache.kafka.clients.consumer.OffsetAndMetadata")(
        at.offset, leader_epoch, ""
    )


def _offset_and_epoch(given: Any) -> OffsetAndEpoch:
    return OffsetAndEpoch(int(given.offset()), _number(given.leaderEpoch()))


def _number(epoch: Any) -> int:
    """Return an `Optional<Integer>` as a number, -1 if empty."""
    return int(epoch.orElse(NO_EPOCH))


def _millis(millis: int) -> Any:
    return java_class("java.time.Duration").ofMillis(millis)
