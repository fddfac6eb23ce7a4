"""The Java consumer under test (`org.apache.kafka.clients.consumer.KafkaConsumer`, classic)."""

import time
from dataclasses import dataclass, field
from typing import Any

import jpype

from harness.clients.commands import LogEnd, Member, MemberCommit
from harness.clients.history import HistoryWriter
from harness.clients.jvm import exception_name, java_class, java_properties
from harness.contract.events import (
    NO_EPOCH,
    Committed,
    ConsumerFailed,
    GroupChanged,
    Polled,
)
from harness.contract.outcomes import CommitEpoch, commit_outcome

_POLL_MS = 100
_POSITION_MS = 100
_Partition = tuple[str, int]


@dataclass
class JavaMember:
    """One consumer, a member of its group; not to be used by two threads at a time."""

    member: Member
    bootstrap: str
    history: HistoryWriter
    _consumer: Any = field(init=False)
    _last_epochs: dict[_Partition, int] = field(default_factory=dict, init=False)
    _last_assignment: set[_Partition] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        """Open the consumer and subscribe it."""
        self._consumer = java_class("org.apache.kafka.clients.consumer.KafkaConsumer")(
            java_properties(
                {
                    "bootstrap.servers": self.bootstrap,
                    "group.id": self.member.group,
                    "client.id": self.member.member,
                    "auto.offset.reset": self.member.reset,
                    "enable.auto.commit": "false",
                    "default.api.timeout.ms": "30000",
                    "request.timeout.ms": "10000",
                    "key.deserializer": _STRING_DESERIALIZER,
                    "value.deserializer": _STRING_DESERIALIZER,
                }
            )
        )
        self._consumer.subscribe(java_class("java.util.List").of(self.member.topic))
        self._changed("opened")

    def consume(self, ends: list[LogEnd], *, timeout_seconds: float) -> str:
        """Poll to the log ends; returns how it ended: caught_up, failed or stalled."""
        wanted = {(end.topic, end.partition): end.offset for end in ends}
        deadline = time.monotonic() + timeout_seconds
        try:
            while time.monotonic() < deadline:
                self._poll()
                positions = {tp: self._position(tp) for tp in self._last_assignment}
                if positions and all(wanted[tp] == at for tp, at in positions.items()):
                    self._record_positions("caught_up", positions)
                    return "caught_up"
        except jpype.JException as error:
            self._failed(error)
            return "failed"
        self._record_positions("stalled", dict.fromkeys(self._last_assignment))
        return "stalled"

    def commit(self, order: MemberCommit) -> str:
        """Commit the position of every assigned partition; returns the outcome."""
        style = CommitEpoch(order.commit_epoch)
        outcomes = [
            self._commit_partition(tp, style, order) for tp in sorted(self._last_assignment)
        ]
        return next((outcome for outcome in outcomes if outcome != "ok"), "ok")

    def close(self) -> None:
        """Leave the group and close the consumer."""
        self._consumer.close()
        self._changed("closed")

    def _poll(self) -> None:
        records = self._consumer.poll(_millis(_POLL_MS))
        self._note_assignment()
        for topic_partition in records.partitions():
            batch = records.records(topic_partition)
            epochs = [int(record.leaderEpoch().orElse(NO_EPOCH)) for record in batch]
            partition = (str(topic_partition.topic()), int(topic_partition.partition()))
            self.history.write(
                Polled,
                group=self.member.group,
                member=self.member.member,
                topic=partition[0],
                partition=partition[1],
                offsets=[int(record.offset()) for record in batch],
                epochs=epochs,
                values=[str(record.value()) for record in batch],
            )
            self._last_epochs[partition] = epochs[-1]

    def _note_assignment(self) -> None:
        assigned = {(str(tp.topic()), int(tp.partition())) for tp in self._consumer.assignment()}
        for tp in sorted(assigned - self._last_assignment):
            self._changed("assigned", tp, self._position(tp))
        for tp in sorted(self._last_assignment - assigned):
            self._changed("revoked", tp)
            self._last_epochs.pop(tp, None)
        self._last_assignment = assigned

    def _position(self, partition: _Partition) -> int | None:
        """The member's valid position; None while it has none (being validated or reset)."""
        try:
            return int(self._consumer.position(_topic_partition(partition), _millis(_POSITION_MS)))
        except java_class("org.apache.kafka.common.errors.TimeoutException"):
            return None

    def _commit_partition(
        self, partition: _Partition, style: CommitEpoch, order: MemberCommit
    ) -> str:
        offset = self._position(partition)
        if offset is None:
            return "failed"
        record_epoch = self._last_epochs.get(partition, NO_EPOCH)
        epoch = {
            CommitEpoch.RECORD: record_epoch,
            CommitEpoch.CURRENT: order.current_epoch,
            CommitEpoch.MAX: max(record_epoch, order.current_epoch),
            CommitEpoch.NONE: NO_EPOCH,
        }[style]
        error = self._commit_sync(partition, style, offset, epoch)
        outcome = commit_outcome(error)
        self.history.write(
            Committed,
            group=self.member.group,
            member=self.member.member,
            topic=partition[0],
            partition=partition[1],
            offset=offset,
            epoch=epoch,
            commit_epoch=style,
            record_epoch=record_epoch,
            current_epoch=order.current_epoch,
            outcome=outcome,
            error=error,
        )
        return outcome

    def _commit_sync(
        self, partition: _Partition, style: CommitEpoch, offset: int, epoch: int
    ) -> str | None:
        """Commit; `record` is left to the client itself. Returns the exception's simple name."""
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

    def _failed(self, error: Any) -> None:
        name = exception_name(error)
        fields: dict[str, Any] = {}
        for partition, divergent in _truncated(error, name).items():
            fields = {"topic": partition[0], "partition": partition[1]}
            if divergent is not None:
                fields |= {
                    "divergent_offset": int(divergent.offset()),
                    "divergent_epoch": int(divergent.leaderEpoch().orElse(NO_EPOCH)),
                }
        self.history.write(
            ConsumerFailed,
            group=self.member.group,
            member=self.member.member,
            exception=name,
            message=str(error.getMessage()),
            **fields,
        )

    def _record_positions(self, change: str, positions: dict[_Partition, int | None]) -> None:
        for tp, at in sorted(positions.items()):
            self._changed(change, tp, at if at is not None else self._position(tp))

    def _changed(
        self, change: str, partition: _Partition = ("", -1), position: int | None = None
    ) -> None:
        self.history.write(
            GroupChanged,
            group=self.member.group,
            member=self.member.member,
            change=change,
            topic=partition[0],
            partition=partition[1],
            position=position,
            position_epoch=self._last_epochs.get(partition, NO_EPOCH),
        )


_STRING_DESERIALIZER = "org.apache.kafka.common.serialization.StringDeserializer"


def _truncated(error: Any, name: str) -> dict[_Partition, Any]:
    """The partitions of which a poll's exception speaks, with the divergent offset if known."""
    if name == "LogTruncationException":
        divergent = error.divergentOffsets()
        return {
            (str(tp.topic()), int(tp.partition())): divergent.get(tp)
            for tp in error.offsetOutOfRangePartitions().keySet()
        }
    if name in ("OffsetOutOfRangeException", "NoOffsetForPartitionException"):
        partitions = (
            error.offsetOutOfRangePartitions().keySet()
            if name == "OffsetOutOfRangeException"
            else error.partitions()
        )
        return {(str(tp.topic()), int(tp.partition())): None for tp in partitions}
    return {}


def _topic_partition(partition: _Partition) -> Any:
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
