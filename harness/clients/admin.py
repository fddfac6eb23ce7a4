"""Operations of Kafka's admin client (`org.apache.kafka.clients.admin.Admin`)."""

import json
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import jpype
import msgspec

from cluster.kafka.settings import compaction
from contract.errors import WorkerError
from contract.events import NO_EPOCH, OffsetRead, TransactionChanged, WireAnswer, WireCalled
from contract.protocol import ALTER_OFFSETS, NO_API_KEY, NO_BROKER
from contract.software import Client
from contract.tables import OFFSETS_TOPIC
from contract.terms import Outcome, TransactionChange, TransactionStep
from contract.waiting import wait_until
from harness.clients.command import command
from harness.clients.history import HistoryWriter
from harness.clients.worker import Role, WorkerPlan
from harness.java.jvm import (
    exception_name,
    java_class,
    java_list,
    java_offset,
    java_partition,
    java_properties,
    kafka_consumer,
)

_TIMEOUT_MS = "20000"
_REQUEST_TIMEOUT_MS = "10000"
_COORDINATOR_TIMEOUT_MS, _COORDINATOR_ATTEMPTS = 5000, 6
_ADMIN = "org.apache.kafka.clients.admin"
_OF_THE_TOPIC = "DYNAMIC_TOPIC_CONFIG"
EXTRA_MEMBER = "fencepost-extra-member"
"""The extra member's client.id."""
_STABLE = "Stable"
_CONSUMER = "Consumer"
_POLL_MS = 100
_NO_ERROR = 0


class NewTopic(msgspec.Struct, frozen=True, kw_only=True):
    """A topic to create: the brokers of each partition's replicas, the preferred leader first."""

    topic: str
    assignment: list[list[int]]
    config: dict[str, str]


class TransactionState(msgspec.Struct, frozen=True, kw_only=True):
    """A transactional id as its coordinator reports it; `state` is Kafka's (Ongoing, ...).

    expires_ms: when an open transaction reaches its `transaction.timeout.ms`, in ms since 1970;
        None without an open transaction.
    """

    transactional_id: str
    coordinator: int
    producer_id: int
    producer_epoch: int
    state: str
    expires_ms: int | None = None


class MemberView(msgspec.Struct, frozen=True, kw_only=True):
    """A member of a group: its id, its client.id, and `topic-partition` of each that it has."""

    member: str
    client: str
    partitions: list[str]


class GroupView(msgspec.Struct, frozen=True, kw_only=True):
    """A consumer group as its coordinator reports it; type and state are Kafka's."""

    type: str
    state: str
    members: list[MemberView]


class ListedOffset(msgspec.Struct, frozen=True, kw_only=True):
    """A committed offset as an admin client returned it; None where there is no commit."""

    topic: str
    partition: int
    offset: int | None
    epoch: int


class RefusedError(WorkerError):
    """The cluster refused what an admin client asked; `exception` is its simple name."""

    def __init__(self, message: str, exception: str) -> None:
        """`message` says what was refused, and why."""
        super().__init__(message)
        self.exception = exception


class JoinedAndLeft(msgspec.Struct, frozen=True, kw_only=True):
    """A group before, with and after an extra member; `generation` is that member's.

    With the consumer protocol it is the member epoch.
    """

    generation: int
    before: GroupView
    meanwhile: GroupView
    after: GroupView


class AdminRole(Role):
    """Administers the cluster by an admin client, which is opened at its first use."""

    client = "admin"

    def __init__(self, plan: WorkerPlan, history: HistoryWriter) -> None:
        """The JVM must run."""
        self._bootstrap = plan.bootstrap
        self._history = history
        self._opened: Any = None

    @command
    def create_topics(self, topics: list[NewTopic]) -> None:
        """Create topics."""
        created = java_list(_new_topic(topic) for topic in topics)
        self._ask("create topics", lambda admin: admin.createTopics(created).all())

    @command
    def delete_topic(self, topic: str) -> None:
        """Delete a topic; brokers complete it later."""
        topics = java_list([topic])
        self._ask("delete a topic", lambda admin: admin.deleteTopics(topics).all())

    @command
    def describe_topic(self, topic: str) -> NewTopic:
        """Return a topic as the `NewTopic` that would create it: replicas and its own settings."""
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
                for partition in sorted(
                    described.partitions(), key=lambda partition: partition.partition()
                )
            ],
            config={
                str(entry.name()): str(entry.value())
                for entry in config.entries()
                if str(entry.source()) == _OF_THE_TOPIC
            },
        )

    @command
    def describe_group(self, group: str) -> GroupView | None:
        """Return a group as its coordinator reports it; None if it does not know it (yet)."""
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

    @command
    def offsets_partition(self, group: str) -> int:
        """Return the partition of `__consumer_offsets` that has a group's commits.

        As `GroupCoordinatorService.partitionFor` does, by the hash of the group's name.
        """
        partitions = len(self.describe_topic(OFFSETS_TOPIC).assignment)
        hashed = java_class("java.lang.String")(group).hashCode()
        return int(java_class("org.apache.kafka.common.utils.Utils").abs(hashed)) % partitions

    @command
    def committed(self, group: str) -> dict[str, int]:
        """Return a group's committed offsets, by `topic-partition`."""
        return {
            f"{commit.topic}-{commit.partition}": commit.offset
            for commit in self._list_commits(group, attempts=_COORDINATOR_ATTEMPTS)
            if commit.offset is not None
        }

    @command
    def read_offsets(
        self, group: str, topic: str, partitions: list[int], *, is_stable: bool = False
    ) -> list[ListedOffset]:
        """Ask once for a group's committed offsets of partitions of a topic.

        By default `Admin.listConsumerGroupOffsets` does not ask for stable ones; with `is_stable`
        it does (`ListConsumerGroupOffsetsOptions.requireStable`).
        """
        asked = java_list(java_partition(topic, partition) for partition in partitions)
        return self._list_commits(group, asked, is_stable=is_stable)

    def _list_commits(
        self, group: str, partitions: Any = None, *, is_stable: bool = False, attempts: int = 1
    ) -> list[ListedOffset]:
        """Return a group's commits of some partitions, or all that it has; each is recorded.

        Raises:
            WorkerError: the cluster refused.
        """
        began_micros = time.time_ns() // 1000
        spec = java_class(f"{_ADMIN}.ListConsumerGroupOffsetsSpec")().topicPartitions(partitions)
        asked = java_class("java.util.Map").of(group, spec)
        options = _briefly("ListConsumerGroupOffsets").requireStable(is_stable)
        told = {"group": group, "is_stable": is_stable, "by": "admin", "began_micros": began_micros}
        try:
            found = self._ask(
                f"list the committed offsets of {group}",
                lambda admin: admin.listConsumerGroupOffsets(
                    asked, options
                ).partitionsToOffsetAndMetadata(group),
                attempts=attempts,
            )
        except RefusedError as refused:
            for tp in partitions or [None]:
                self._history.write(OffsetRead, **told, **_place(tp), error=refused.exception)
            raise
        listed = [_listed_offset(entry) for entry in found.entrySet()]
        for commit in listed:
            self._history.write(OffsetRead, **told, **msgspec.structs.asdict(commit))
        return listed

    @command
    def alter_offsets(
        self, group: str, topic: str, offsets: dict[int, int], *, epoch: int = NO_EPOCH
    ) -> None:
        """Set committed offsets of a group without members (`Admin.alterConsumerGroupOffsets`).

        The call is also written to the history as a `WireCalled`. Without a response nothing says
        which of them are stored.

        Raises:
            WorkerError: the cluster refused.
        """
        asked = java_class("java.util.HashMap")()
        for number, offset in offsets.items():
            asked.put(java_partition(topic, number), java_offset(offset, epoch))
        began_micros = time.time_ns() // 1000
        failure = None
        try:
            self._ask(
                f"set the committed offsets of {group}",
                lambda admin: admin.alterConsumerGroupOffsets(group, asked).all(),
            )
        except RefusedError as refused:
            failure = str(refused)
            raise
        finally:
            self._history.write(
                WireCalled,
                broker=NO_BROKER,
                api=ALTER_OFFSETS,
                api_key=NO_API_KEY,
                version=0,
                request=json.dumps({"groupId": group, "topic": topic, "offsets": offsets}),
                failure=failure,
                began_micros=began_micros,
                answers=[
                    WireAnswer(
                        topic=topic,
                        partition=number,
                        asked_offset=offset,
                        asked_epoch=epoch,
                        error_code=_NO_ERROR if failure is None else None,
                        group=group,
                        metadata="",
                    )
                    for number, offset in offsets.items()
                ],
                client=str(Client.JAVA),
            )

    @command
    def elect(self, topic: str, partition: int, *, unclean: bool, bootstrap: str) -> bool:
        """Elect the preferred leader, or (unclean) any live replica; False if it leads already.

        `bootstrap`: `bootstrap.servers` of brokers whose metadata is current. Admin sends the
        request to any broker that its metadata names. Metadata from before a broker was
        partitioned from the controllers may name that broker, which does not respond.
        """
        kind = java_class("org.apache.kafka.common.ElectionType")
        election = kind.UNCLEAN if unclean else kind.PREFERRED
        partitions = java_class("java.util.Set").of(java_partition(topic, partition))
        with closing(_open_admin(bootstrap)) as through:
            try:
                _ask(
                    through,
                    "elect a leader",
                    lambda admin: admin.electLeaders(election, partitions).all(),
                )
            except RefusedError as error:
                if error.exception != "ElectionNotNeededException":
                    raise
                return False
        return True

    @command
    def delete_records(self, topic: str, before_offsets: dict[int, int]) -> None:
        """Delete the records of partitions of a topic below an offset of each."""
        before = java_class(f"{_ADMIN}.RecordsToDelete").beforeOffset
        asked = java_class("java.util.HashMap")()
        for number, offset in before_offsets.items():
            asked.put(java_partition(topic, number), before(offset))
        self._ask("delete records", lambda admin: admin.deleteRecords(asked).all())

    @command
    def alter_topic(self, topic: str, config: dict[str, str]) -> None:
        """Set configurations of a topic.

        Raises:
            WorkerError: the cluster refused, or the log would be compacted.
        """
        for problem in compaction(config).values():
            raise WorkerError(f"topic {topic}: {problem}")
        entry = java_class(f"{_ADMIN}.ConfigEntry")
        alter = java_class(f"{_ADMIN}.AlterConfigOp")
        put = java_class(f"{_ADMIN}.AlterConfigOp$OpType").SET
        changes = java_list(alter(entry(key, value), put) for key, value in config.items())
        asked = java_class("java.util.Map").of(_topic_resource(topic), changes)
        self._ask("alter a topic", lambda admin: admin.incrementalAlterConfigs(asked).all())

    @command
    def reassign(self, topic: str, partition: int, replicas: list[int]) -> None:
        """Assign replicas to a partition, the preferred leader first."""
        brokers = java_list(java_class("java.lang.Integer")(replica) for replica in replicas)
        target = java_class("java.util.Optional").of(
            java_class(f"{_ADMIN}.NewPartitionReassignment")(brokers)
        )
        asked = java_class("java.util.Map").of(java_partition(topic, partition), target)
        self._ask("reassign", lambda admin: admin.alterPartitionReassignments(asked).all())

    @command
    def fence_producers(self, transactional_ids: list[str]) -> None:
        """Fence the producers of transactional ids (`Admin.fenceProducers`)."""
        ids = java_list(transactional_ids)
        self._ask("fence producers", lambda admin: admin.fenceProducers(ids).all())

    @command
    def describe_transactions(self, transactional_ids: list[str]) -> list[TransactionState]:
        """Return the state of transactional ids as their coordinators report it, in order.

        Each is also written to the history as a `TransactionChanged`.
        """
        return [
            self._describe_transaction(transactional_id) for transactional_id in transactional_ids
        ]

    def _describe_transaction(self, transactional_id: str) -> TransactionState:
        began_micros = time.time_ns() // 1000
        described = self._ask(
            f"describe {transactional_id}",
            lambda admin: admin.describeTransactions(
                java_list([transactional_id]), _briefly("DescribeTransactions")
            ).description(transactional_id),
            attempts=_COORDINATOR_ATTEMPTS,
        )
        started = described.transactionStartTimeMs()
        state = TransactionState(
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
        self._history.write(
            TransactionChanged,
            producer="",
            transactional_id=transactional_id,
            step=TransactionStep.DESCRIBE,
            change=TransactionChange.DESCRIBED,
            transaction=None,
            producer_id=state.producer_id,
            producer_epoch=state.producer_epoch,
            began_micros=began_micros,
            outcome=Outcome.OK,
            state=state.state,
        )
        return state

    @command
    def join_and_leave(self, group: str, *, timeout_seconds: float) -> JoinedAndLeft:
        """Join a consumer group, wait until it is stable, leave, and wait until it is stable again.

        The extra member uses the group's own protocol, subscribes to the topics that the group has
        partitions of, and commits nothing.

        Raises:
            WorkerError: the group is not stable, or has no partitions.
            WaitTimeoutError: it did not become stable in time, as when its members do not poll.
        """

        def await_stable(probe: Callable[[], GroupView | None], what: str) -> GroupView:
            return wait_until(
                probe,
                what=f"{group} to be stable {what} the extra member",
                timeout_seconds=timeout_seconds,
                hint="do its members poll?",
            )

        before = self._known_group(group)
        topics = {
            name.rpartition("-")[0] for member in before.members for name in member.partitions
        }
        if before.state != _STABLE or not topics:
            raise WorkerError(f"group {group} is not stable, or has no partitions: {before}")
        extra = _extra_member(group, before, bootstrap=self._bootstrap)
        try:
            extra.subscribe(java_list(sorted(topics)))

            def settled_group() -> GroupView | None:
                extra.poll(java_class("java.time.Duration").ofMillis(_POLL_MS))
                return self._stable(group, has_extra=True)

            meanwhile = await_stable(settled_group, "with")
            generation = int(extra.groupMetadata().generationId())
        finally:
            extra.close()
        after = await_stable(lambda: self._stable(group, has_extra=False), "without")
        return JoinedAndLeft(generation=generation, before=before, meanwhile=meanwhile, after=after)

    def _stable(self, group: str, *, has_extra: bool) -> GroupView | None:
        view = self._known_group(group)
        is_there = any(member.client == EXTRA_MEMBER for member in view.members)
        return view if view.state == _STABLE and is_there == has_extra else None

    def _known_group(self, group: str) -> GroupView:
        found = self.describe_group(group)
        if found is None:
            raise WorkerError(f"group {group} is not known to its coordinator")
        return found

    def close(self) -> None:
        """Close the client if it was opened."""
        if self._opened is not None:
            self._opened.close()

    def _ask(self, what: str, call: Any, *, none_for: str = "", attempts: int = 1) -> Any:
        if self._opened is None:
            self._opened = _open_admin(self._bootstrap)
        return _ask(self._opened, what, call, none_for=none_for, attempts=attempts)


def _open_admin(bootstrap: str) -> Any:
    return java_class(f"{_ADMIN}.Admin").create(
        java_properties(
            {
                "bootstrap.servers": bootstrap,
                "default.api.timeout.ms": _TIMEOUT_MS,
                "request.timeout.ms": _REQUEST_TIMEOUT_MS,
            }
        )
    )


def _ask(admin: Any, what: str, call: Any, *, none_for: str = "", attempts: int = 1) -> Any:
    """Return the result of a call's future; None if Kafka's exception has the name `none_for`.

    A call that times out is repeated, up to `attempts` times in all.

    Raises:
        RefusedError: the cluster refused; names Kafka's exception.
    """
    try:
        return call(admin).get()
    except jpype.JException as error:
        cause = error.getCause() if error.getCause() is not None else error
        name, message = exception_name(cause), str(cause.getMessage())
    if name == none_for:
        return None
    if name == "TimeoutException" and attempts > 1:
        return _ask(admin, what, call, none_for=none_for, attempts=attempts - 1)
    raise RefusedError(f"the cluster refused to {what}: {name}: {message}", name)


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


def _place(topic_partition: Any) -> dict[str, Any]:
    """Return topic and number of a `TopicPartition`; nothing for none."""
    if topic_partition is None:
        return {}
    return {"topic": str(topic_partition.topic()), "partition": int(topic_partition.partition())}


def _listed_offset(entry: Any) -> ListedOffset:
    """Return what a map has for a `TopicPartition`: an `OffsetAndMetadata`, or null."""
    place, found = _place(entry.getKey()), entry.getValue()
    if found is None:
        return ListedOffset(**place, offset=None, epoch=NO_EPOCH)
    epoch = int(found.leaderEpoch().orElse(NO_EPOCH))
    return ListedOffset(**place, offset=int(found.offset()), epoch=epoch)


def _extra_member(group: str, view: GroupView, *, bootstrap: str) -> Any:
    protocol = {"group.protocol": "consumer"} if view.type == _CONSUMER else {}
    return kafka_consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "client.id": EXTRA_MEMBER,
            **protocol,
        }
    )
