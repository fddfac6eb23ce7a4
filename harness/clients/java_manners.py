"""Java members that commit otherwise than by `commitSync` (`Manner`)."""

from collections.abc import Callable, Mapping
from typing import Any

import jpype

from contract.events import NO_EPOCH
from contract.outcomes import CommitEpoch, GroupChange, Manner, Outcome
from harness.clients.commands import Member, MemberCommit, OpenTransactional
from harness.clients.commit_styles import OffsetAndEpoch, chosen
from harness.clients.history import HistoryWriter
from harness.clients.java_consumer import JavaMember, java_offset, java_partition, partition_of
from harness.clients.java_transactions import TransactionalProducer
from harness.clients.member import Partition
from harness.java.jvm import exception_name, java_class

_LISTENER = "org.apache.kafka.clients.consumer.ConsumerRebalanceListener"
_CALLBACK = "org.apache.kafka.clients.consumer.OffsetCommitCallback"
_NEVER_MS = "600000"
_TRANSACTION_TIMEOUT_MS = 60_000
_STORED: dict[str, dict[Partition, OffsetAndEpoch]] = {}
"""The external store: by group; all members of a group are in the process of one worker."""


def java_member(member: Member, bootstrap: str, history: HistoryWriter) -> JavaMember:
    """Open a Java consumer that commits in its member's manner."""
    kinds: dict[Manner, type[JavaMember]] = {
        Manner.SYNC: JavaMember,
        Manner.ASYNC: _AsyncMember,
        Manner.AUTO: _AutoMember,
        Manner.REVOKED: _RevokedMember,
        Manner.AUTO_REVOKED: _AutoRevokedMember,
        Manner.EXTERNAL: _ExternalMember,
        Manner.TRANSACTIONAL: _TransactionalMember,
    }
    return kinds[Manner(member.manner)](member, bootstrap, history)


class _AsyncMember(JavaMember):
    """`commitAsync`; a `commitSync` of nothing then waits for its response."""

    def _commit(
        self, positions: Mapping[Partition, OffsetAndEpoch], *, is_plain: bool
    ) -> dict[Partition, str]:
        callback = _Callback()
        proxy = jpype.JProxy(_CALLBACK, inst=callback)
        if is_plain:
            self._consumer.commitAsync(proxy)
        elif positions:
            self._consumer.commitAsync(_offsets(positions), proxy)
        try:
            self._consumer.commitSync(java_class("java.util.HashMap")())
        except jpype.JException as error:
            return dict.fromkeys(positions, exception_name(error))
        return {} if callback.error is None else dict.fromkeys(positions, callback.error)


class _Callback:
    """An `OffsetCommitCallback` that keeps the error's name."""

    def __init__(self) -> None:
        self.error: str | None = None

    def onComplete(self, _offsets: Any, error: Any) -> None:  # noqa: N802 - the interface's name
        """Called by the consumer in the thread that waits."""
        self.error = None if error is None else exception_name(error)


class _AutoMember(JavaMember):
    """`enable.auto.commit`: the client commits when it is closed, and does not report what."""

    def _settings(self) -> dict[str, str]:
        return {"enable.auto.commit": "true", "auto.commit.interval.ms": _NEVER_MS}


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
        kept = _chosen(self._known(sorted(self._last_assignment), order), order)
        _STORED[self.member.group] = _STORED.get(self.member.group, {}) | kept
        return Outcome.OK

    def _listener(self) -> Any:
        return jpype.JProxy(_LISTENER, inst=_Listener(assigned=self._when_assigned))

    def _when_assigned(self, partitions: Any) -> None:
        stored = _STORED.get(self.member.group, {})
        for topic_partition in partitions:
            at = stored.get(partition_of(topic_partition))
            if at is None:
                continue
            where = at.offset if at.epoch == NO_EPOCH else java_offset(at)
            self._consumer.seek(topic_partition, where)
            self._changed(GroupChange.SOUGHT, partition_of(topic_partition), at.offset)


class _TransactionalMember(JavaMember):
    """`sendOffsetsToTransaction`; its producer reports the steps."""

    def __init__(self, member: Member, bootstrap: str, history: HistoryWriter) -> None:
        super().__init__(member, bootstrap, history)
        self._bootstrap = bootstrap

    def commit(self, order: MemberCommit) -> str:
        """Send what the style selects in a transaction, and commit it."""
        positions = _chosen(self._known(sorted(self._last_assignment), order), order)
        name = f"transactions-{self.member.member}"
        producer = TransactionalProducer(
            OpenTransactional(
                producer=name,
                transactional_id=name,
                transaction_timeout_ms=_TRANSACTION_TIMEOUT_MS,
            ),
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


def _chosen(known: Mapping[Partition, Any], order: MemberCommit) -> dict[Partition, OffsetAndEpoch]:
    style = CommitEpoch(order.commit_epoch)
    wanted = {tp: chosen(style, one) for tp, one in known.items()}
    return {tp: at for tp, at in wanted.items() if at is not None}


def _offsets(positions: Mapping[Partition, OffsetAndEpoch]) -> Any:
    offsets = java_class("java.util.HashMap")()
    for tp, at in positions.items():
        offsets.put(java_partition(tp), java_offset(at))
    return offsets
