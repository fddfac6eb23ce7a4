"""What an application may call besides `subscribe` and `poll`; every call is recorded."""

import time
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from contract.events import NO_EPOCH, OffsetRead
from contract.terms import GroupChange
from harness.clients.member import GroupMember, OffsetAndEpoch, Partition


class CommittedOffset(msgspec.Struct, frozen=True, kw_only=True):
    """What a client returned as a partition's committed offset.

    offset: None where there is no commit, or the read failed.
    epoch: committed with it; -1 without one.
    error: the client's name of it; None without one.
    """

    partition: int
    offset: int | None = None
    epoch: int = NO_EPOCH
    error: str | None = None


Fetched = OffsetAndEpoch | str | None
"""A partition's commit, an error's name, or None without a commit."""


class CallingMember(GroupMember):
    """A consumer whose application also assigns, seeks, pauses, and asks for committed offsets.

    A manual assignment is recorded as `assigned`, as by a group.
    """

    def subscribe(self) -> None:
        """Subscribe to the member's topic, after `unsubscribe`."""
        self._enter()
        self._subscribe()

    def unsubscribe(self) -> None:
        """End the subscription or the manual assignment; leaves the group."""
        self._enter()
        self._unsubscribe()
        self._note_assignment(self._assignment())

    def assign(self, partitions: Sequence[int], *, offset: int | None = None) -> None:
        """Assign partitions of the member's topic, to be read from their commits or from `offset`.

        The consumer is not subscribed.
        """
        self._enter()
        wanted = self._of_topic(partitions)
        self._assign(wanted, offset)
        if offset is not None:
            self._record_move(wanted, offset)
        self._note_assignment(self._assignment())

    def seek(self, partitions: Sequence[int], at: OffsetAndEpoch) -> None:
        """Set the position on partitions that are assigned."""
        self._enter()
        wanted = self._of_topic(partitions)
        for tp in wanted:
            self._seek(tp, at)
        self._record_move(wanted, at.offset)

    def pause(self, partitions: Sequence[int]) -> None:
        """Fetch nothing of partitions until `resume`."""
        self._enter()
        self._pause(self._of_topic(partitions))
        self._tell(GroupChange.PAUSED, partitions)

    def resume(self, partitions: Sequence[int]) -> None:
        """Fetch partitions again."""
        self._enter()
        self._resume(self._of_topic(partitions))
        self._tell(GroupChange.RESUMED, partitions)

    def committed(
        self, partitions: Sequence[int], *, timeout_seconds: float
    ) -> list[CommittedOffset]:
        """Ask for the group's committed offsets of partitions of the member's topic."""
        self._enter()
        wanted = self._of_topic(partitions)
        began_micros = time.time_ns() // 1000
        fetched: Mapping[Partition, Fetched]
        try:
            fetched = self._committed(wanted, timeout_seconds=timeout_seconds)
        except self.failures as error:
            fetched = dict.fromkeys(wanted, self._failure(error).exception)
        found = [_committed_offset(tp, fetched[tp]) for tp in wanted]
        for commit in found:
            self._history.write(
                OffsetRead,
                group=self.member.group,
                member=self.member.member,
                topic=self.member.topic,
                is_stable=self._asks_stably(),
                by="consumer",
                began_micros=began_micros,
                **msgspec.structs.asdict(commit),
            )
        return found

    @abstractmethod
    def _unsubscribe(self) -> None:
        """End the subscription or the manual assignment."""

    @abstractmethod
    def _assign(self, partitions: Iterable[Partition], offset: int | None) -> None:
        """Assign partitions, from an offset if it is given."""

    @abstractmethod
    def _seek(self, partition: Partition, at: OffsetAndEpoch) -> None:
        """Set the position on a partition."""

    @abstractmethod
    def _pause(self, partitions: Iterable[Partition]) -> None:
        """Fetch nothing of partitions."""

    @abstractmethod
    def _resume(self, partitions: Iterable[Partition]) -> None:
        """Fetch partitions again."""

    @abstractmethod
    def _committed(
        self, partitions: Sequence[Partition], *, timeout_seconds: float
    ) -> Mapping[Partition, Fetched]:
        """Return what the client returns for each partition.

        Raises:
            one of `failures`: as the client raised it.
        """

    @abstractmethod
    def _asks_stably(self) -> bool:
        """Return whether the client's OffsetFetch has `require_stable` (KIP-447), by its source."""

    def _of_topic(self, partitions: Iterable[int]) -> list[Partition]:
        return [(self.member.topic, partition) for partition in partitions]

    def _record_move(self, partitions: Iterable[Partition], offset: int) -> None:
        """Record that the application set the position; what was polled before says nothing now."""
        for tp in partitions:
            self._forget(tp)
            self._record_change(GroupChange.SOUGHT, tp, offset)

    def _tell(self, change: GroupChange, partitions: Iterable[int]) -> None:
        for tp in self._of_topic(partitions):
            self._record_change(change, tp, self._position(tp))


def _committed_offset(partition: Partition, fetched: Fetched) -> CommittedOffset:
    number = partition[1]
    if isinstance(fetched, str):
        return CommittedOffset(partition=number, error=fetched)
    if fetched is None:
        return CommittedOffset(partition=number)
    return CommittedOffset(partition=number, offset=fetched.offset, epoch=fetched.epoch)
