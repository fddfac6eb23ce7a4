"""Operations of Kafka's admin client (`org.apache.kafka.clients.admin.Admin`)."""

from contextlib import closing
from typing import Any

import jpype

from contract.errors import WorkerError
from harness.clients.commands import TransactionState
from harness.clients.observer_commands import (
    AlterTopic,
    DeleteRecords,
    ElectLeader,
    GroupView,
    MemberView,
    NewTopic,
    Reassign,
)
from harness.java.jvm import exception_name, java_class, java_list, java_properties

_TIMEOUT_MS = "20000"
_REQUEST_TIMEOUT_MS = "10000"
_COORDINATOR_TIMEOUT_MS, _COORDINATOR_ATTEMPTS = 5000, 6
_ADMIN = "org.apache.kafka.clients.admin"
_OF_THE_TOPIC = "DYNAMIC_TOPIC_CONFIG"


class AdminClient:
    """An admin client, opened at its first use."""

    def __init__(self, bootstrap: str) -> None:
        """Store the settings; the client is opened later."""
        self._bootstrap = bootstrap
        self._opened: Any = None

    def create_topics(self, topics: list[NewTopic]) -> int:
        """Create topics; returns their number."""
        created = java_list(_new_topic(topic) for topic in topics)
        self._ask("create topics", lambda admin: admin.createTopics(created).all())
        return len(topics)

    def delete_topic(self, topic: str) -> None:
        """Delete a topic; brokers complete it later."""
        topics = java_list([topic])
        self._ask("delete a topic", lambda admin: admin.deleteTopics(topics).all())

    def describe_topic(self, topic: str) -> NewTopic:
        """Return the topic as a `NewTopic`: its replicas and its own settings."""
        resource = _topic_resource(topic)
        names, resources = java_list([topic]), java_list([resource])
        described = self._ask(
            f"describe {topic}", lambda admin: admin.describeTopics(names).allTopicNames()
        ).get(topic)
        config = self._ask(
            f"describe {topic}'s settings", lambda admin: admin.describeConfigs(resources).all()
        ).get(resource)
        return NewTopic(
            topic=topic,
            assignment=[
                [int(replica.id()) for replica in partition.replicas()]
                for partition in sorted(described.partitions(), key=lambda one: one.partition())
            ],
            config={
                str(entry.name()): str(entry.value())
                for entry in config.entries()
                if str(entry.source()) == _OF_THE_TOPIC
            },
        )

    def describe_group(self, group: str) -> GroupView:
        """Return a consumer group as its coordinator reports it now.

        Raises:
            WorkerError: the coordinator does not know it, or did not respond.
        """
        found = self.find_group(group)
        if found is None:
            raise WorkerError(f"group {group} is not known to its coordinator")
        return found

    def find_group(self, group: str) -> GroupView | None:
        """Return a consumer group as its coordinator reports it now; None if it is unknown."""
        groups = java_list([group])
        described = self._ask(
            f"describe group {group}",
            lambda admin: (
                admin.describeConsumerGroups(groups, _briefly("DescribeConsumerGroups"))
                .describedGroups()
                .get(group)
            ),
            none_for="GroupIdNotFoundException",
            attempts=_COORDINATOR_ATTEMPTS,
        )
        if described is None:
            return None
        return GroupView(
            type=str(described.type()),
            state=str(described.state()),
            members=[
                MemberView(
                    member=str(member.consumerId()),
                    client=str(member.clientId()),
                    partitions=sorted(
                        str(partition) for partition in member.assignment().topicPartitions()
                    ),
                )
                for member in described.members()
            ],
        )

    def committed(self, group: str) -> dict[str, int]:
        """Return a group's committed offsets, by `topic-partition`."""
        described = self._ask(
            f"list the committed offsets of {group}",
            lambda admin: admin.listConsumerGroupOffsets(
                group, _briefly("ListConsumerGroupOffsets")
            ).partitionsToOffsetAndMetadata(),
            attempts=_COORDINATOR_ATTEMPTS,
        )
        return {
            str(entry.getKey()): int(entry.getValue().offset())
            for entry in described.entrySet()
            if entry.getValue() is not None
        }

    def elect(self, order: ElectLeader) -> None:
        """Elect a leader; it is no error if it leads already."""
        kind = java_class("org.apache.kafka.common.ElectionType")
        election = kind.UNCLEAN if order.unclean else kind.PREFERRED
        partitions = java_class("java.util.Set").of(_partition(order.topic, order.partition))
        with closing(AdminClient(order.bootstrap)) as through:
            through._ask(  # noqa: SLF001 - a client of this class, with metadata of its own
                "elect a leader",
                lambda admin: admin.electLeaders(election, partitions).all(),
                none_for="ElectionNotNeededException",
            )

    def delete_records(self, order: DeleteRecords) -> None:
        """Delete the records of partitions below an offset of each."""
        before = java_class(f"{_ADMIN}.RecordsToDelete").beforeOffset
        asked = java_class("java.util.HashMap")()
        for number, offset in order.before_offsets.items():
            asked.put(_partition(order.topic, number), before(offset))
        self._ask("delete records", lambda admin: admin.deleteRecords(asked).all())

    def alter_topic(self, order: AlterTopic) -> None:
        """Set configurations of a topic."""
        entry = java_class(f"{_ADMIN}.ConfigEntry")
        alter = java_class(f"{_ADMIN}.AlterConfigOp")
        put = java_class(f"{_ADMIN}.AlterConfigOp$OpType").SET
        changes = java_list(alter(entry(key, value), put) for key, value in order.config.items())
        asked = java_class("java.util.Map").of(_topic_resource(order.topic), changes)
        self._ask("alter a topic", lambda admin: admin.incrementalAlterConfigs(asked).all())

    def reassign(self, order: Reassign) -> None:
        """Give a partition other replicas."""
        replicas = java_list(java_class("java.lang.Integer")(replica) for replica in order.replicas)
        target = java_class("java.util.Optional").of(
            java_class(f"{_ADMIN}.NewPartitionReassignment")(replicas)
        )
        asked = java_class("java.util.Map").of(_partition(order.topic, order.partition), target)
        self._ask("reassign", lambda admin: admin.alterPartitionReassignments(asked).all())

    def fence_producers(self, transactional_ids: list[str]) -> int:
        """Fence the producers of transactional ids; returns their number."""
        ids = java_list(transactional_ids)
        self._ask("fence producers", lambda admin: admin.fenceProducers(ids).all())
        return len(transactional_ids)

    def describe_transaction(self, transactional_id: str) -> TransactionState:
        """Return the state of a transactional id as its coordinator reports it now."""
        described = self._ask(
            f"describe {transactional_id}",
            lambda admin: admin.describeTransactions(
                java_list([transactional_id]), _briefly("DescribeTransactions")
            ).description(transactional_id),
            attempts=_COORDINATOR_ATTEMPTS,
        )
        started = described.transactionStartTimeMs()
        return TransactionState(
            transactional_id=transactional_id,
            coordinator=int(described.coordinatorId()),
            producer_id=int(described.producerId()),
            producer_epoch=int(described.producerEpoch()),
            state=str(described.state()),
            expires_ms=(
                int(started.getAsLong()) + int(described.transactionTimeoutMs())
                if started.isPresent()
                else None
            ),
        )

    def close(self) -> None:
        """Close the client if it was opened."""
        if self._opened is not None:
            self._opened.close()

    def _ask(self, what: str, call: Any, *, none_for: str = "", attempts: int = 1) -> Any:
        """Return the result of a call's future; None if Kafka's exception has the name `none_for`.

        A call that times out is repeated, up to `attempts` times in all.

        Raises:
            WorkerError: the cluster refused; names Kafka's exception.
        """
        try:
            return call(self._admin()).get()
        except jpype.JException as error:
            cause = error.getCause() if error.getCause() is not None else error
            name, message = exception_name(cause), str(cause.getMessage())
        if name == none_for:
            return None
        if name == "TimeoutException" and attempts > 1:
            return self._ask(what, call, none_for=none_for, attempts=attempts - 1)
        raise WorkerError(f"the cluster refused to {what}: {name}: {message}")

    def _admin(self) -> Any:
        if self._opened is None:
            self._opened = java_class(f"{_ADMIN}.Admin").create(
                java_properties(
                    {
                        "bootstrap.servers": self._bootstrap,
                        "default.api.timeout.ms": _TIMEOUT_MS,
                        "request.timeout.ms": _REQUEST_TIMEOUT_MS,
                    }
                )
            )
        return self._opened


def _briefly(call: str) -> Any:
    """Return options with which a call to a coordinator ends early, so that it can be repeated.

    A call goes to the coordinator that was found first until it times out, even if that broker has
    died since. Only the next call looks the coordinator up again. Source: `KafkaAdminClient`'s
    `ConstantNodeIdProvider`.
    """
    timeout = java_class("java.lang.Integer")(_COORDINATOR_TIMEOUT_MS)
    return java_class(f"{_ADMIN}.{call}Options")().timeoutMs(timeout)


def _new_topic(topic: NewTopic) -> Any:
    integer = java_class("java.lang.Integer")
    assignment = java_class("java.util.HashMap")()
    for partition, replicas in enumerate(topic.assignment):
        brokers = java_list(integer(replica) for replica in replicas)
        assignment.put(integer(partition), brokers)
    new_topic = java_class(f"{_ADMIN}.NewTopic")(topic.topic, assignment)
    config = java_class("java.util.HashMap")()
    for key, value in topic.config.items():
        config.put(key, value)
    return new_topic.configs(config)


def _topic_resource(topic: str) -> Any:
    resource = "org.apache.kafka.common.config.ConfigResource"
    return java_class(resource)(java_class(f"{resource}$Type").TOPIC, topic)


def _partition(topic: str, partition: int) -> Any:
    return java_class("org.apache.kafka.common.TopicPartition")(topic, partition)
