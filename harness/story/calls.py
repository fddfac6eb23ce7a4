"""What members are asked besides a subscription and polls: their clients' own calls."""

from collections import ChainMap
from collections.abc import Sequence

from contract.errors import WorkerError
from contract.events import NO_EPOCH
from harness.clients.member_calls import CommittedOffset
from harness.clients.member_role import MemberRole
from harness.story.consumers import Consumers

_FIRST = (0,)
_COMMITTED_SECONDS = 10
_TAKE_SECONDS = 30


class Calls:
    """Calls of open members that do not poll meanwhile; by default about partition 0."""

    def __init__(self, consumers: Consumers) -> None:
        """Ask the workers of the members."""
        self._consumers = consumers

    def subscribe(self, members: Sequence[str]) -> None:
        """Let members subscribe to their topics, after `unsubscribe`."""
        self._consumers.call(members, MemberRole.subscribe)

    def unsubscribe(self, members: Sequence[str]) -> None:
        """Let members end their subscriptions or manual assignments."""
        self._consumers.call(members, MemberRole.unsubscribe)

    def assign(
        self,
        members: Sequence[str],
        partitions: Sequence[int] = _FIRST,
        *,
        offset: int | None = None,
    ) -> None:
        """Assign partitions to members that were opened without a subscription.

        They read from `offset`, or from their groups' commits. No two open members of a group get
        the same partition: that would be judged as a double ownership.
        """
        self._consumers.call(
            members, lambda share: MemberRole.assign(share, list(partitions), offset=offset)
        )

    def take(self, members: Sequence[str], records: int) -> None:
        """Let members poll until each has at least `records`, and no further.

        Raises:
            WorkerError: one has fewer in time.
        """
        answers = self._consumers.call(
            members, lambda share: MemberRole.take(share, records, timeout_seconds=_TAKE_SECONDS)
        )
        taken = dict(ChainMap(*answers))
        if short := {name: count for name, count in taken.items() if count < records}:
            raise WorkerError(f"fewer than {records} records were polled: {short}")

    def seek(
        self,
        members: Sequence[str],
        partitions: Sequence[int] = _FIRST,
        *,
        offset: int,
        epoch: int = NO_EPOCH,
    ) -> None:
        """Set the positions of members on partitions that they have."""
        self._consumers.call(
            members,
            lambda share: MemberRole.seek(share, list(partitions), offset=offset, epoch=epoch),
        )

    def pause(self, members: Sequence[str], partitions: Sequence[int] = _FIRST) -> None:
        """Let members fetch nothing of partitions until `resume`."""
        self._consumers.call(members, lambda share: MemberRole.pause(share, list(partitions)))

    def resume(self, members: Sequence[str], partitions: Sequence[int] = _FIRST) -> None:
        """Let members fetch partitions again."""
        self._consumers.call(members, lambda share: MemberRole.resume(share, list(partitions)))

    def committed(
        self,
        members: Sequence[str],
        partitions: Sequence[int] = _FIRST,
        *,
        timeout_seconds: float = _COMMITTED_SECONDS,
    ) -> dict[str, list[CommittedOffset]]:
        """Let members ask for committed offsets; returns by member what the clients returned."""
        answers = self._consumers.call(
            members,
            lambda share: MemberRole.committed(
                share, list(partitions), timeout_seconds=timeout_seconds
            ),
        )
        return dict(ChainMap(*answers))
