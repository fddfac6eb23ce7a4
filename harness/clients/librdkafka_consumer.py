"""The librdkafka consumer under test, through confluent-kafka, classic group protocol.

`python -m harness.clients.librdkafka_consumer PLAN` is its worker.
"""

import logging
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from typing import Any, ClassVar

from confluent_kafka import (
    OFFSET_STORED,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
    libversion,
)

from contract.events import NO_EPOCH
from contract.software import Client
from contract.terms import NO_OFFSET, Isolation, Manner, ResetPolicy
from harness.clients.history import HistoryWriter
from harness.clients.librdkafka_producer import LibrdkafkaProducer, refusal
from harness.clients.member import (
    POLL_MS,
    Batch,
    Failure,
    Member,
    OffsetAndEpoch,
    Partition,
)
from harness.clients.member_calls import CallingMember, Fetched
from harness.clients.member_role import MemberFactory, MemberStamp
from harness.clients.producer_role import serve_client

_BATCH_RECORDS = 500
_CLIENT_LOG = "conf,consumer,cgrp,fetch,topic"
_RESETS = {ResetPolicy.NONE: "error"}
_AT_END = "_PARTITION_EOF"
_PASSING = frozenset(
    {
        "_MAX_POLL_EXCEEDED",
        "_TRANSPORT",
        "_ALL_BROKERS_DOWN",
        "_TIMED_OUT",
        "UNKNOWN_TOPIC_OR_PART",
        "LEADER_NOT_AVAILABLE",
        "NOT_LEADER_FOR_PARTITION",
    }
)
"""Errors after which librdkafka goes on: it retries, or joins its group again at the next poll."""


class LibrdkafkaMember(CallingMember):
    """A `confluent_kafka.Consumer`.

    librdkafka prefetches in its own threads and queues its log until the next poll, so that a line
    has the time of the poll that returned it.
    """

    failures: ClassVar = (KafkaException,)
    definite_failures = frozenset(
        {
            "ILLEGAL_GENERATION",
            "UNKNOWN_MEMBER_ID",
            "REBALANCE_IN_PROGRESS",
            "FENCED_INSTANCE_ID",
            "GROUP_AUTHORIZATION_FAILED",
            "TOPIC_AUTHORIZATION_FAILED",
            "OFFSET_METADATA_TOO_LARGE",
            "STALE_MEMBER_EPOCH",
        }
    )

    def __init__(
        self, member: Member, bootstrap: str, history: HistoryWriter, *, log: logging.Handler
    ) -> None:
        """Write its debug log to `log`, with the member's name."""
        self._log = logging.getLogger(f"librdkafka({member.member})")
        self._log.setLevel(logging.DEBUG)
        self._log.propagate = False
        self._log.addFilter(MemberStamp(member))
        self._log.addHandler(log)
        self._ends: dict[Partition, int] = {}
        self._messages: dict[Partition, Message] = {}
        self._is_assigned_by_hand = False
        self._pending: KafkaError | None = None
        self._unawaited: deque[int] = deque()
        super().__init__(member, bootstrap, history)

    def _open(self, bootstrap: str) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": self.member.group,
                "client.id": self.member.member,
                "group.protocol": "classic",
                "isolation.level": self.member.isolation,
                "auto.offset.reset": _RESETS.get(ResetPolicy(self.member.reset), self.member.reset),
                "enable.auto.commit": self._is_by_itself,
                "enable.auto.offset.store": self.member.manner != Manner.STORED,
                "enable.partition.eof": True,
                "debug": _CLIENT_LOG,
                **({"on_commit": self._on_commit} if self._is_unawaited else {}),
                **self.member.settings,
            },
            logger=self._log,
        )

    def _subscribe(self) -> None:
        self._consumer.subscribe([self.member.topic], on_assign=self._on_assign)

    def _on_assign(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        assigned = [(tp.topic, tp.partition) for tp in partitions]
        for partition in assigned:
            self._ends.pop(partition, None)
        self._note_assigned(assigned)

    def _fetch(self) -> list[Batch]:
        if self._pending is not None:
            pending, self._pending = self._pending, None
            raise KafkaException(pending)
        records: dict[Partition, list[Message]] = {}
        for message in self._consumer.consume(_BATCH_RECORDS, timeout=POLL_MS / 1000):
            partition = (message.topic() or "", _number(message.partition()))
            error = message.error()
            if error is None:
                records.setdefault(partition, []).append(message)
                self._ends.pop(partition, None)
            elif error.name() == _AT_END:
                self._ends[partition] = _number(message.offset())
            elif error.name() not in _PASSING:
                self._pending = error
        self._messages |= {partition: messages[-1] for partition, messages in records.items()}
        return [_batch(partition, messages) for partition, messages in records.items()]

    def _assignment(self) -> set[Partition]:
        return {(tp.topic, tp.partition) for tp in self._consumer.assignment()}

    def _position(self, partition: Partition) -> int | None:
        """Return the offset after the last record, or the log end if none came since a seek."""
        (position,) = self._consumer.position([TopicPartition(*partition)])
        return position.offset if position.offset >= 0 else self._ends.get(partition)

    def _commit(
        self, positions: Mapping[Partition, OffsetAndEpoch], *, is_plain: bool
    ) -> dict[Partition, str]:
        """See `GroupMember`. A plain commit skips partitions without a delivered record."""
        if not positions:
            return {}
        try:
            answers = self._answers_of_commit(positions, is_plain=is_plain)
        except KafkaException as error:
            return dict.fromkeys(positions, _error(error).name())
        errors = dict.fromkeys(positions, NO_OFFSET)
        for tp in answers:
            partition = (tp.topic, tp.partition)
            if tp.error is not None:
                errors[partition] = tp.error.name()
            elif tp.offset >= 0:
                errors.pop(partition, None)
        return errors

    def _commit_unawaited(self, began_micros: int) -> None:
        """Commit; a poll calls back for each commit in turn, and so does the close.

        There is nothing to commit if librdkafka has committed all that it delivered.
        """
        try:
            self._consumer.commit(asynchronous=True)
        except KafkaException as error:
            if _error(error).name() != NO_OFFSET:
                raise
        else:
            self._unawaited.append(began_micros)

    def _on_commit(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        began_micros = self._unawaited.popleft() if self._unawaited else time.time_ns() // 1000
        committed = {
            (tp.topic, tp.partition): OffsetAndEpoch(tp.offset, _number(tp.leader_epoch))
            for tp in partitions
            if tp.offset >= 0
        }
        names = {
            (tp.topic, tp.partition): found.name()
            for tp in partitions
            if (found := tp.error or error) is not None
        }
        self._record_response(committed, names, began_micros=began_micros)

    def _answers_of_commit(
        self, positions: Mapping[Partition, OffsetAndEpoch], *, is_plain: bool
    ) -> list[TopicPartition]:
        """Commit in the member's manner.

        Raises:
            KafkaException: as the client raised it.
        """
        if self.member.manner == Manner.MESSAGE:
            return [
                answer
                for tp in positions
                for answer in self._consumer.commit(message=self._messages[tp], asynchronous=False)
                or []
            ]
        if self.member.manner == Manner.STORED:
            for tp in positions:
                if tp in self._messages:
                    self._consumer.store_offsets(message=self._messages[tp])
        if is_plain:
            return self._consumer.commit(asynchronous=False) or []
        offsets = [_topic_partition(tp, at) for tp, at in positions.items()]
        return self._consumer.commit(offsets=offsets, asynchronous=False) or []

    def _forget(self, partition: Partition) -> None:
        super()._forget(partition)
        self._messages.pop(partition, None)
        self._ends.pop(partition, None)

    def _unsubscribe(self) -> None:
        """End what there is: librdkafka's `unsubscribe` keeps a manual assignment."""
        if self._is_assigned_by_hand:
            self._consumer.unassign()
        else:
            self._consumer.unsubscribe()
        self._is_assigned_by_hand = False

    def _assign(self, partitions: Iterable[Partition], offset: int | None) -> None:
        self._is_assigned_by_hand = True
        at = OFFSET_STORED if offset is None else offset
        self._consumer.assign([TopicPartition(*tp, at) for tp in partitions])

    def _seek(self, partition: Partition, at: OffsetAndEpoch) -> None:
        self._consumer.seek(_topic_partition(partition, at))

    def _pause(self, partitions: Iterable[Partition]) -> None:
        self._consumer.pause([TopicPartition(*tp) for tp in partitions])

    def _resume(self, partitions: Iterable[Partition]) -> None:
        self._consumer.resume([TopicPartition(*tp) for tp in partitions])

    def _committed(
        self, partitions: Sequence[Partition], *, timeout_seconds: float
    ) -> dict[Partition, Fetched]:
        asked = [TopicPartition(*tp) for tp in partitions]
        found = self._consumer.committed(asked, timeout=timeout_seconds)
        return {(tp.topic, tp.partition): _to_fetched(tp) for tp in found}

    def _asks_stably(self) -> bool:
        """Source: `rd_kafka_OffsetFetchRequest`, `require_stable_offsets`."""
        return self.member.isolation == Isolation.READ_COMMITTED

    def _close(self) -> None:
        self._consumer.close()

    def _failure(self, error: BaseException) -> Failure:
        """See `GroupMember`; a fatal error has its own name in the message."""
        cause = _error(error)
        if cause.fatal():
            return Failure(exception="_FATAL", message=f"{cause.name()}: {cause.str()}")
        return Failure(exception=cause.name(), message=cause.str())


def _batch(partition: Partition, messages: list[Message]) -> Batch:
    return Batch(
        partition=partition,
        offsets=[_number(message.offset()) for message in messages],
        epochs=[_number(message.leader_epoch()) for message in messages],
        values=[(message.value() or b"").decode() for message in messages],
    )


def _topic_partition(partition: Partition, at: OffsetAndEpoch) -> TopicPartition:
    return TopicPartition(*partition, at.offset, leader_epoch=at.epoch)


def _to_fetched(found: TopicPartition) -> Fetched:
    if found.error is not None:
        return found.error.name()
    if found.offset < 0:
        return None
    return OffsetAndEpoch(found.offset, _number(found.leader_epoch))


def _number(epoch: int | None) -> int:
    return NO_EPOCH if epoch is None else epoch


def _error(error: BaseException) -> KafkaError:
    cause: KafkaError = error.args[0]
    return cause


def _refused_settings(settings: Mapping[str, Any]) -> dict[str, str]:
    """Open a consumer with the settings, which connects to nothing without a server's address.

    One may need another: `max.poll.interval.ms` below the default of `session.timeout.ms`. If they
    are refused together, each that is refused alone has its reason, or else all have that of all.
    """
    whole = _refusal(settings)
    if not whole:
        return {}
    alone = {name: _refusal({name: value}) for name, value in settings.items()}
    found = {name: reason for name, reason in alone.items() if reason}
    return found or dict.fromkeys(settings, whole)


def _refusal(settings: Mapping[str, Any]) -> str:
    """Why librdkafka refuses settings; empty if it does not."""
    try:
        Consumer({"group.id": "settings", **settings}).close()
    except KafkaException as error:
        given = ", ".join(f"{name}={value}" for name, value in settings.items())
        return f"librdkafka refuses {given}: {_error(error).str().strip()}"
    return ""


def _factory(log: logging.Handler) -> MemberFactory:
    return partial(LibrdkafkaMember, log=log)


if __name__ == "__main__":
    serve_client(
        Client.LIBRDKAFKA,
        client_version=f"{libversion()[0]} (confluent-kafka {version('confluent-kafka')})",
        factory=_factory,
        refused=_refused_settings,
        open_producer=LibrdkafkaProducer,
        refusal=refusal,
    )
