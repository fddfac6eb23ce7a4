"""The Java consumer under test (`org.apache.kafka.clients.consumer.KafkaConsumer`).

It commits by `commitSync`, or in another `Manner`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

import jpype

from contract.events import NO_EPOCH
from contract.software import JAVA_REQUEST_TIMEOUT, Client
from contract.terms import DEFINITE_COMMIT_FAILURES, GroupChange, Manner, Outcome
from harness.clients.history import HistoryWriter
from harness.clients.java_producer import transactional
from harness.clients.member import (
    POLL_MS,
    POSITION_MS,
    Batch,
    ClientState,
    Failure,
    Member,
    MemberCommit,
    OffsetAndEpoch,
    Partition,
    choose_offset,
)
from harness.clients.member_calls import CallingMember, Fetched
from harness.java.columns import bind_arguments, method, numbers, numbers_by, texts, texts_by, then
from harness.java.jvm import (
    exception_name,
    java_class,
    java_list,
    java_offset,
    java_partition,
    kafka_consumer,
    private_field,
)

_CONSUMER_PROTOCOL = {"group.protocol": "consumer"}
_COOPERATIVE = "CooperativeStickyAssignor"
_LISTENER = "org.apache.kafka.clients.consumer.ConsumerRebalanceListener"
_CALLBACK = "org.apache.kafka.clients.consumer.OffsetCommitCallback"
_REQUEST_TIMEOUT, _REQUEST_TIMEOUT_MS = JAVA_REQUEST_TIMEOUT
_NOT_CALLED_BACK = "NotCalledBack"
"""The error of a commitAsync without a response yet: commitSync awaits only what was sent, and a
commit waits unsent while no coordinator is known (`ConsumerCoordinator.invokePendingAsyncCommits`
and `pendingAsyncCommits`)."""
_NEVER_MS = "600000"
_TRANSACTION_TIMEOUT_MS = 60_000
_STORED: dict[str, dict[Partition, OffsetAndEpoch]] = {}
"""The external store: by group; all members of a group are in the process of one worker."""


class JavaMember(CallingMember):
    """A consumer with the classic group protocol, or for client java-consumer with KIP-848's."""

    failures = (jpype.JException,)
    definite_failures = DEFINITE_COMMIT_FAILURES
    tells_its_state: ClassVar[bool] = True

    def positions_to_commit(self) -> tuple[Any, Any]:
        """Return what it processed and its group's metadata, for `sendOffsetsToTransaction`.

        `KafkaConsumer.position` has no epoch, and may lie beyond records that are not delivered,
        such as aborted ones and markers: the last record's epoch is not the one that belongs to it.
        """
        return _offsets(self.processed()), self._consumer.groupMetadata()

    def bytes_received(self, brokers: Iterable[int]) -> dict[int, int]:
        """Return the bytes received from brokers so far; may be called from any thread.

        They are the consumer's own metrics. The coordinator's connection has a node id
        of its own, so it does not count.
        Source: `Selector.SelectorMetrics`, `ConsumerCoordinator`.
        """
        metrics = self._consumer.metrics()
        return {broker: self._bytes_received(metrics, broker) for broker in brokers}

    def _bytes_received(self, metrics: Any, broker: int) -> int:
        tags = java_class("java.util.HashMap")()
        tags.put("client-id", self.member.member)
        tags.put("node-id", f"node-{broker}")
        name = java_class("org.apache.kafka.common.MetricName")(
            "incoming-byte-total", "consumer-node-metrics", "", tags
        )
        metric = metrics.get(name)
        return 0 if metric is None else int(metric.metricValue())

    def _open(self, bootstrap: str) -> None:
        self._consumer = kafka_consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": self.member.group,
                "client.id": self.member.member,
                "auto.offset.reset": self.member.reset,
                "isolation.level": self.member.isolation,
                "default.api.timeout.ms": "30000",
                _REQUEST_TIMEOUT: str(_REQUEST_TIMEOUT_MS),
                **(_CONSUMER_PROTOCOL if self.member.client == Client.JAVA_CONSUMER else {}),
                **self._settings(),
                **{name: str(value) for name, value in self.member.settings.items()},
            }
        )
        delegate = private_field(self._consumer, "delegate")
        self._subscriptions = private_field(delegate, "subscriptions")
        self._metadata = private_field(delegate, "metadata")

    def _subscribe(self) -> None:
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
            _batch(tp, records.records(tp), following.get(_partition_of(tp)))
            for tp in records.partitions()
        ]

    def _assignment(self) -> set[Partition]:
        return {_partition_of(tp) for tp in self._consumer.assignment()}

    def _position(self, partition: Partition) -> int | None:
        try:
            return int(self._consumer.position(java_partition(*partition), _millis(POSITION_MS)))
        except java_class("org.apache.kafka.common.errors.TimeoutException"):
            return None
        except java_class("java.lang.IllegalStateException"):
            return None  # With KIP-848 a thread of the client's own has taken it away meanwhile.

    def _commit(
        self, positions: Mapping[Partition, OffsetAndEpoch], *, is_plain: bool
    ) -> dict[Partition, str]:
        try:
            if is_plain:
                self._consumer.commitSync()
            elif positions:
                self._consumer.commitSync(_offsets(positions))
        except jpype.JException as error:
            return dict.fromkeys(positions, exception_name(error))
        return {}

    def _commit_unawaited(self, began_micros: int) -> None:
        """Commit; a poll, a `commitSync` or the close calls the callback."""
        self._last_generation = self._generation()

        def report(offsets: Any, error: Any) -> None:
            committed = {
                _partition_of(tp): _offset_and_epoch(offsets.get(tp)) for tp in offsets.keySet()
            }
            errors = {} if error is None else dict.fromkeys(committed, exception_name(error))
            self._record_response(committed, errors, began_micros=began_micros)

        self._consumer.commitAsync(jpype.JProxy(_CALLBACK, inst=_Callback(report)))

    def _states(self, partitions: Iterable[Partition]) -> dict[Partition, ClientState]:
        """Read the consumer's own fields, which sends and validates nothing.

        A plain commit takes the positions of `SubscriptionState.allConsumed`.
        """
        leaders = {tp: self._leader_epoch(java_partition(*tp)) for tp in partitions}
        consumed = self._subscriptions.allConsumed()
        return {tp: self._state(java_partition(*tp), consumed, leaders[tp]) for tp in leaders}

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

    def _member_id(self) -> str:
        return str(self._consumer.groupMetadata().memberId())

    def _is_eager(self) -> bool:
        assignors = str(self.member.settings.get("partition.assignment.strategy", ""))
        return self.member.client != Client.JAVA_CONSUMER and _COOPERATIVE not in assignors

    def _unsubscribe(self) -> None:
        self._consumer.unsubscribe()

    def _assign(self, partitions: Iterable[Partition], offset: int | None) -> None:
        wanted = list(partitions)
        self._consumer.assign(_java_partitions(wanted))
        for tp in wanted if offset is not None else []:
            self._consumer.seek(java_partition(*tp), offset)

    def _seek(self, partition: Partition, at: OffsetAndEpoch) -> None:
        where = at.offset if at.epoch == NO_EPOCH else java_offset(at.offset, at.epoch)
        self._consumer.seek(java_partition(*partition), where)

    def _pause(self, partitions: Iterable[Partition]) -> None:
        self._consumer.pause(_java_partitions(partitions))

    def _resume(self, partitions: Iterable[Partition]) -> None:
        self._consumer.resume(_java_partitions(partitions))

    def _committed(
        self, partitions: Sequence[Partition], *, timeout_seconds: float
    ) -> dict[Partition, Fetched]:
        asked = java_class("java.util.HashSet")(_java_partitions(partitions))
        found = self._consumer.committed(asked, _millis(round(timeout_seconds * 1000)))
        commits = {tp: found.get(java_partition(*tp)) for tp in partitions}
        return {
            tp: None if commit is None else _offset_and_epoch(commit)
            for tp, commit in commits.items()
        }

    def _asks_stably(self) -> bool:
        """Source: `ConsumerCoordinator.sendOffsetFetchRequest`, `CommitRequestManager`."""
        return True

    def _close(self) -> None:
        self._consumer.close()

    def _failure(self, error: Any) -> Failure:
        name = exception_name(error)
        known: dict[str, Any] = {"exception": name, "message": str(error.getMessage())}
        for topic_partition in _failed_partitions(error, name)[:1]:
            topic, number = _partition_of(topic_partition)
            known |= {"topic": topic, "partition": number}
            position = self._subscriptions.positionOrNull(topic_partition)
            if position is not None:
                epoch = _number(private_field(position, "offsetEpoch"))
                known |= {"position": int(position.offset), "position_epoch": epoch}
            divergent = _divergent_offset(error, name, topic_partition)
            if divergent is not None:
                at = _offset_and_epoch(divergent)
                known |= {"divergent_offset": at.offset, "divergent_epoch": at.epoch}
        return Failure(**known)


class _AsyncMember(JavaMember):
    """`commitAsync`; a `commitSync` of nothing then waits for its response."""

    def _commit(
        self, positions: Mapping[Partition, OffsetAndEpoch], *, is_plain: bool
    ) -> dict[Partition, str]:
        reported: list[str | None] = []

        def report(_offsets: Any, error: Any) -> None:
            reported.append(None if error is None else exception_name(error))

        proxy = jpype.JProxy(_CALLBACK, inst=_Callback(report))
        if is_plain:
            self._consumer.commitAsync(proxy)
        elif positions:
            self._consumer.commitAsync(_offsets(positions), proxy)
        try:
            self._consumer.commitSync(java_class("java.util.HashMap")())
        except jpype.JException as error:
            return dict.fromkeys(positions, exception_name(error))
        error_name = reported[0] if reported else _NOT_CALLED_BACK
        return {} if error_name is None else dict.fromkeys(positions, error_name)


class _Callback:
    """An `OffsetCommitCallback` from a function of offsets and error."""

    def __init__(self, report: Callable[[Any, Any], None]) -> None:
        self._report = report

    def onComplete(self, offsets: Any, error: Any) -> None:  # noqa: N802 - the interface's name
        """Called by the consumer in the thread that polls, commits or closes."""
        self._report(offsets, error)


class _AutoMember(JavaMember):
    """`enable.auto.commit`: the client commits when it is closed, and does not report what."""

    def _settings(self) -> dict[str, str]:
        return {"enable.auto.commit": "true", "auto.commit.interval.ms": _NEVER_MS}


class _PeriodicMember(JavaMember):
    """`enable.auto.commit`, every `auto.commit.interval.ms`."""

    def _settings(self) -> dict[str, str]:
        return {"enable.auto.commit": "true"}


class _Listener:
    """A `ConsumerRebalanceListener` from two functions of partitions."""

    def __init__(
        self, *, assigned: Callable[[Any], object] = len, revoked: Callable[[Any], object] = len
    ) -> None:
        self._assigned = assigned
        self._revoked = revoked

    def onPartitionsAssigned(self, partitions: Any) -> None:  # noqa: N802 - the interface's name
        """Called by the consumer in a poll."""
        self._assigned(partitions)

    def onPartitionsRevoked(self, partitions: Any) -> None:  # noqa: N802 - the interface's name
        """Called by the consumer in a poll, and when it is closed."""
        self._revoked(partitions)

    def onPartitionsLost(self, partitions: Any) -> None:  # noqa: N802 - the interface's name
        """Commit nothing: another member owns the partitions."""


class _RevokedMember(JavaMember):
    """`commitSync` in `onPartitionsRevoked`, once the driver has ordered a commit."""

    _order: MemberCommit | None = None

    def commit(self, order: MemberCommit) -> str:
        """Commit when the partitions are revoked."""
        self._order = order
        return Outcome.OK

    def _listener(self) -> Any:
        return jpype.JProxy(_LISTENER, inst=_Listener(revoked=self._when_revoked))

    def _when_revoked(self, partitions: Any) -> None:
        order, self._order = self._order, None
        if order is not None and not partitions.isEmpty():
            super().commit(order)


class _AutoRevokedMember(_RevokedMember):
    """`enable.auto.commit`, and a commit at each revocation from the first order on."""

    def _settings(self) -> dict[str, str]:
        return {"enable.auto.commit": "true"}

    def _when_revoked(self, partitions: Any) -> None:
        order = self._order
        super()._when_revoked(partitions)
        self._order = order


class _ExternalMember(JavaMember):
    """The application keeps offset and epoch, and seeks to them."""

    def commit(self, order: MemberCommit) -> str:
        """Keep what the style selects."""
        kept = _choose_offsets(self._known_states(sorted(self._last_assignment), order), order)
        _STORED[self.member.group] = _STORED.get(self.member.group, {}) | kept
        return Outcome.OK

    def _listener(self) -> Any:
        return jpype.JProxy(_LISTENER, inst=_Listener(assigned=self._when_assigned))

    def _when_assigned(self, partitions: Any) -> None:
        stored = _STORED.get(self.member.group, {})
        for topic_partition in partitions:
            at = stored.get(_partition_of(topic_partition))
            if at is None:
                continue
            self._seek(_partition_of(topic_partition), at)
            self._record_change(GroupChange.SOUGHT, _partition_of(topic_partition), at.offset)


class _TransactionalMember(JavaMember):
    """`sendOffsetsToTransaction`; its producer reports the steps."""

    def __init__(self, member: Member, bootstrap: str, history: HistoryWriter) -> None:
        super().__init__(member, bootstrap, history)
        self._bootstrap = bootstrap

    def commit(self, order: MemberCommit) -> str:
        """Send what the style selects in a transaction, and commit it."""
        positions = _choose_offsets(self._known_states(sorted(self._last_assignment), order), order)
        name = f"transactions-{self.member.member}"
        producer = transactional(
            name,
            transactional_id=name,
            timeout_ms=_TRANSACTION_TIMEOUT_MS,
            bootstrap=self._bootstrap,
            history=self._history,
        )
        steps = [
            producer.initialize(),
            producer.begin(),
            producer.send_offsets(_offsets(positions), self._consumer.groupMetadata()),
            producer.end(is_commit=True),
        ]
        producer.close()
        return next((step.outcome for step in steps if step.outcome != Outcome.OK), Outcome.OK)


def java_member(member: Member, bootstrap: str, history: HistoryWriter) -> JavaMember:
    """Open a Java consumer that commits in its member's manner."""
    kinds: dict[Manner, type[JavaMember]] = {
        Manner.SYNC: JavaMember,
        Manner.ASYNC: _AsyncMember,
        Manner.AUTO: _AutoMember,
        Manner.PERIODIC: _PeriodicMember,
        Manner.UNAWAITED: JavaMember,
        Manner.REVOKED: _RevokedMember,
        Manner.AUTO_REVOKED: _AutoRevokedMember,
        Manner.EXTERNAL: _ExternalMember,
        Manner.TRANSACTIONAL: _TransactionalMember,
    }
    return kinds[Manner(member.manner)](member, bootstrap, history)


def _following(records: Any) -> dict[Partition, OffsetAndEpoch]:
    """Return `ConsumerRecords.nextOffsets`, which Kafka has since 4.0 (KIP-1094)."""
    if not hasattr(records, "nextOffsets"):
        return {}
    following = records.nextOffsets()
    return {_partition_of(tp): _offset_and_epoch(following.get(tp)) for tp in following.keySet()}


def _batch(topic_partition: Any, records: Any, following: OffsetAndEpoch | None) -> Batch:
    return Batch(
        partition=_partition_of(topic_partition),
        following=following,
        **columns_of(records),
    )


def columns_of(records: Any) -> dict[str, list[Any]]:
    """Return the offsets, leader epochs and values of a `List<ConsumerRecord>`, which has some."""
    offset, epoch, value = _getters()
    values = texts(records.stream(), value)
    return {
        "offsets": numbers(records.stream(), offset).tolist(),
        "epochs": numbers(records.stream(), epoch).tolist(),
        "values": values or [str(record.value()) for record in records],
    }


@cache
def _getters() -> tuple[Any, Any, Any]:
    record = java_class("org.apache.kafka.clients.consumer.ConsumerRecord")
    or_else = method(java_class("java.util.Optional"), "orElse", java_class("java.lang.Object"))
    or_none = bind_arguments(or_else, java_class("java.lang.Integer")(NO_EPOCH))
    return (
        numbers_by(method(record, "offset")),
        numbers_by(then(method(record, "leaderEpoch"), or_none)),
        texts_by(method(record, "value")),
    )


def _failed_partitions(error: Any, name: str) -> list[Any]:
    """Return the partitions that a poll's exception names."""
    if name in ("LogTruncationException", "OffsetOutOfRangeException"):
        return list(error.offsetOutOfRangePartitions().keySet())
    if name == "NoOffsetForPartitionException":
        return list(error.partitions())
    return []


def _divergent_offset(error: Any, name: str, topic_partition: Any) -> Any:
    """Return a partition's divergent offset and epoch from a LogTruncationException."""
    if name != "LogTruncationException":
        return None
    return error.divergentOffsets().get(topic_partition)


def _partition_of(topic_partition: Any) -> Partition:
    """Return topic and number of a `TopicPartition`."""
    return str(topic_partition.topic()), int(topic_partition.partition())


def _java_partitions(partitions: Iterable[Partition]) -> Any:
    return java_list(java_partition(*tp) for tp in partitions)


def _offset_and_epoch(given: Any) -> OffsetAndEpoch:
    return OffsetAndEpoch(int(given.offset()), _number(given.leaderEpoch()))


def _number(epoch: Any) -> int:
    """Return an `Optional<Integer>` as a number, -1 if empty."""
    return int(epoch.orElse(NO_EPOCH))


def _millis(millis: int) -> Any:
    return java_class("java.time.Duration").ofMillis(millis)


def _choose_offsets(
    known: Mapping[Partition, Any], order: MemberCommit
) -> dict[Partition, OffsetAndEpoch]:
    wanted = {tp: choose_offset(order.commit_epoch, state) for tp, state in known.items()}
    return {tp: at for tp, at in wanted.items() if at is not None}


def _offsets(positions: Mapping[Partition, OffsetAndEpoch]) -> Any:
    offsets = java_class("java.util.HashMap")()
    for tp, at in positions.items():
        offsets.put(java_partition(*tp), java_offset(at.offset, at.epoch))
    return offsets
