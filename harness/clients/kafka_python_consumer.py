"""The kafka-python consumer under test, classic group protocol.

`python -m harness.clients.kafka_python_consumer PLAN` is its worker.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from typing import Any

from kafka import ConsumerRebalanceListener, KafkaConsumer, TopicPartition
from kafka.errors import KafkaError, LogTruncationError, OffsetOutOfRangeError
from kafka.structs import OffsetAndMetadata

from cluster.kafka.settings import unknown_names
from contract.errors import WorkerError
from contract.events import NO_EPOCH
from contract.software import Client
from contract.terms import Isolation
from harness.clients.history import HistoryWriter
from harness.clients.kafka_python_producer import KafkaPythonProducer, refusal
from harness.clients.member import (
    POLL_MS,
    POSITION_MS,
    Batch,
    ClientState,
    Failure,
    Member,
    OffsetAndEpoch,
    Partition,
)
from harness.clients.member_calls import CallingMember, Fetched
from harness.clients.member_role import MemberFactory, MemberStamp
from harness.clients.producer_role import serve_client

_JOIN_MS = 3000
_CLIENT_LOGS = ("kafka.consumer", "kafka.coordinator.consumer")
_LOG = logging.getLogger(f"{_CLIENT_LOGS[0]}.settings")
_IO_THREAD = "kafka-io-"
"""The prefix of the client id in the name of the thread of a consumer's event loop."""


class SpeakerLog(logging.Filter):
    """Adds to each log record its member, as kafka-python's loggers are shared by all members.

    It is the member whose event loop runs in the record's thread, or whose client that thread
    calls.
    """

    def __init__(self) -> None:
        """Start without members."""
        super().__init__()
        self._stamps: dict[str, MemberStamp] = {}
        self._calling = threading.local()

    def introduce(self, member: Member) -> None:
        """Register a member before its client is opened."""
        self._stamps[member.member] = MemberStamp(member)

    def calls(self, member: Member) -> None:
        """Note that this thread calls a member's client from now on."""
        self._calling.member = member.member

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the member; never drops a record."""
        thread = record.threadName or ""
        name = thread.removeprefix(_IO_THREAD)
        if name == thread:
            name = getattr(self._calling, "member", "")
        stamp = self._stamps.get(name)
        return stamp is None or stamp.filter(record)


class KafkaPythonMember(CallingMember):
    """A `kafka.KafkaConsumer`, which runs its event loop in its own thread."""

    failures = (KafkaError,)
    definite_failures = frozenset(
        {
            "CommitFailedError",
            "IllegalGenerationError",
            "UnknownMemberIdError",
            "RebalanceInProgressError",
            "FencedInstanceIdError",
            "GroupAuthorizationFailedError",
            "TopicAuthorizationFailedError",
            "OffsetMetadataTooLargeError",
        }
    )

    def __init__(
        self, member: Member, bootstrap: str, history: HistoryWriter, *, speaker: SpeakerLog
    ) -> None:
        """`speaker` is the log filter that names the member of each line."""
        self._speaker = speaker
        speaker.introduce(member)
        super().__init__(member, bootstrap, history)

    def _enter(self) -> None:
        """Let the log's filter know this thread."""
        self._speaker.calls(self.member)

    def _open(self, bootstrap: str) -> None:
        self._consumer = KafkaConsumer(
            bootstrap_servers=bootstrap.split(","),
            group_id=self.member.group,
            client_id=self.member.member,
            auto_offset_reset=str(self.member.reset),
            isolation_level=str(self.member.isolation),
            **{"enable_auto_commit": self._is_by_itself, **self.member.settings},
        )
        _LOG.info("KafkaConsumer.config: %s", self._consumer.config)

    def _subscribe(self) -> None:
        self._consumer.subscribe([self.member.topic], listener=_Listener(self._note_assigned))

    def _fetch(self) -> list[Batch]:
        """See `GroupMember`; polls longer without partitions, so that no poll interrupts a join.

        kafka-python 3.0.12 never applies its assignment if a poll times out while it rejoins
        because of a topic in new metadata: `ConsumerCoordinator.need_rejoin` compares snapshots
        that `_perform_assignment` has updated before the response to SyncGroup, so no later poll
        waits for the pending join.
        """
        timeout_ms = POLL_MS if self._consumer.assignment() else _JOIN_MS
        records = self._consumer.poll(timeout_ms=timeout_ms)
        return [_batch(tp, batch) for tp, batch in records.items()]

    def _assignment(self) -> set[Partition]:
        return {(tp.topic, tp.partition) for tp in self._consumer.assignment()}

    def _position(self, partition: Partition) -> int | None:
        position: int | None = self._consumer.position(
            TopicPartition(*partition), timeout_ms=POSITION_MS
        )
        return position

    def _states(self, partitions: Iterable[Partition]) -> dict[Partition, ClientState]:
        """Read the consumer's own state, which a plain commit uses.

        The position's epoch is not always that of the last record: after a leader change or a
        rebalance kafka-python 3.0.12 may have none.
        """
        consumed = self._consumer._subscription.all_consumed_offsets()  # noqa: SLF001
        states = dict.fromkeys(partitions, ClientState(position=None))
        for tp, at in consumed.items():
            partition = (tp.topic, tp.partition)
            if partition in states:
                position = OffsetAndEpoch(at.offset, at.leader_epoch)
                states[partition] = ClientState(position=position)
        return states

    def _commit(
        self, positions: Mapping[Partition, OffsetAndEpoch], *, is_plain: bool
    ) -> dict[Partition, str]:
        if not positions:
            return {}
        try:
            if is_plain:
                self._consumer.commit()
            else:
                self._consumer.commit(
                    {
                        TopicPartition(*tp): OffsetAndMetadata(at.offset, "", at.epoch)
                        for tp, at in positions.items()
                    }
                )
        except KafkaError as error:
            return dict.fromkeys(positions, type(error).__name__)
        return {}

    def _commit_unawaited(self, began_micros: int) -> None:
        """Commit; the client calls back in the thread of its event loop."""

        def report(offsets: Any, answer: Any) -> None:
            committed = {
                (tp.topic, tp.partition): OffsetAndEpoch(at.offset, at.leader_epoch)
                for tp, at in offsets.items()
            }
            name = type(answer).__name__ if isinstance(answer, BaseException) else None
            errors = {} if name is None else dict.fromkeys(committed, name)
            self._record_response(committed, errors, began_micros=began_micros)

        self._consumer.commit_async(callback=report)

    def _unsubscribe(self) -> None:
        self._consumer.unsubscribe()

    def _assign(self, partitions: Iterable[Partition], offset: int | None) -> None:
        wanted = _topic_partitions(partitions)
        self._consumer.assign(wanted)
        for tp in wanted if offset is not None else []:
            self._consumer.seek(tp, offset)

    def _seek(self, partition: Partition, at: OffsetAndEpoch) -> None:
        """Set the position.

        Raises:
            WorkerError: with an epoch, which `KafkaConsumer.seek` does not take.
        """
        if at.epoch != NO_EPOCH:
            raise WorkerError(f"kafka-python can't seek to an epoch ({at}): leave it out")
        self._consumer.seek(TopicPartition(*partition), at.offset)

    def _pause(self, partitions: Iterable[Partition]) -> None:
        self._consumer.pause(*_topic_partitions(partitions))

    def _resume(self, partitions: Iterable[Partition]) -> None:
        self._consumer.resume(*_topic_partitions(partitions))

    def _committed(
        self, partitions: Sequence[Partition], *, timeout_seconds: float
    ) -> dict[Partition, Fetched]:
        """See `CallingMember`; the client asks about one partition at a time."""
        timeout_ms = round(timeout_seconds * 1000)
        commits = {
            tp: self._consumer.committed(TopicPartition(*tp), metadata=True, timeout_ms=timeout_ms)
            for tp in partitions
        }
        return {
            tp: None if commit is None else OffsetAndEpoch(commit.offset, commit.leader_epoch)
            for tp, commit in commits.items()
        }

    def _asks_stably(self) -> bool:
        """Source: `ConsumerCoordinator._send_offset_fetch_request`."""
        return self.member.isolation == Isolation.READ_COMMITTED

    def _close(self) -> None:
        self._consumer.close(autocommit=self._is_by_itself)

    def _failure(self, error: BaseException) -> Failure:
        known: dict[str, Any] = {"exception": type(error).__name__, "message": str(error)}
        partitions: dict[Any, Any] = {}
        if isinstance(error, LogTruncationError):
            partitions = error.divergent_offsets
        elif isinstance(error, OffsetOutOfRangeError) and error.args:
            partitions = dict.fromkeys(error.args[0])
        for tp, divergent in partitions.items():
            known |= {"topic": tp.topic, "partition": tp.partition}
            if divergent is not None:
                known |= {
                    "divergent_offset": divergent.offset,
                    "divergent_epoch": divergent.leader_epoch,
                }
            break
        return Failure(**known)


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    """Reports what a rebalance assigned; runs in the client's own thread."""

    def __init__(self, note_assigned: Callable[[Iterable[Partition]], None]) -> None:
        """`note_assigned` is called once the consumer has its new assignment."""
        self._report = note_assigned

    def on_partitions_revoked(self, revoked: Any) -> None:
        """Do nothing: the member notes its assignment after the poll."""

    def on_partitions_assigned(self, assigned: Any) -> None:
        """With an eager assignor also called for partitions that the member keeps."""
        self._report([(tp.topic, tp.partition) for tp in assigned])


def _topic_partitions(partitions: Iterable[Partition]) -> list[Any]:
    return [TopicPartition(*tp) for tp in partitions]


def _batch(topic_partition: Any, records: list[Any]) -> Batch:
    return Batch(
        partition=(topic_partition.topic, topic_partition.partition),
        offsets=[record.offset for record in records],
        epochs=[record.leader_epoch for record in records],
        values=[record.value.decode() for record in records],
    )


def _refused_settings(settings: Mapping[str, Any]) -> dict[str, str]:
    return unknown_names(settings, KafkaConsumer.DEFAULT_CONFIG)


def _factory(log: logging.Handler) -> MemberFactory:
    """Send the log lines of the client's consumer to the worker's client log."""
    speaker = SpeakerLog()
    log.addFilter(speaker)
    for name in _CLIENT_LOGS:
        logger = logging.getLogger(name)
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
        logger.addHandler(log)
    return partial(KafkaPythonMember, speaker=speaker)


if __name__ == "__main__":
    serve_client(
        Client.KAFKA_PYTHON,
        client_version=version("kafka-python"),
        factory=_factory,
        refused=_refused_settings,
        open_producer=KafkaPythonProducer,
        refusal=refusal,
    )
