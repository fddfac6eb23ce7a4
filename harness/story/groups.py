"""Consumer groups as their coordinators report them: members and committed offsets."""

from harness.clients.admin import GroupView
from harness.clients.observer import Observer
from harness.clients.observer_worker import ObserverRole

_STATE_SECONDS = 60
_STABLE = "Stable"


class Groups:
    """Queries coordinators for the state of groups, and waits for it."""

    def __init__(self, observer: Observer) -> None:
        """Use the observer's worker."""
        self._observer = observer

    def await_members(
        self, group: str, count: int, *, timeout_seconds: float = _STATE_SECONDS
    ) -> GroupView:
        """Wait until a group is stable with `count` members, each with partitions.

        A group without members is not known to its coordinator; the wait continues.

        Raises:
            WaitTimeoutError: it is not; shows the last view.
        """
        last: list[GroupView | None] = [None]

        def probe() -> GroupView | None:
            last[0] = view = self._observer.worker.call(ObserverRole.describe_group(group))
            if view is None:
                return None
            assigned = [member for member in view.members if member.partitions]
            is_so = view.state == _STABLE and len(view.members) == len(assigned) == count
            return view if is_so else None

        return self._observer.await_that(
            probe,
            what=f"{group} to be stable with {count} members",
            timeout_seconds=timeout_seconds,
            last_seen=lambda: last[0],
        )

    def committed(self, group: str) -> dict[str, int]:
        """Return a group's committed offsets, by `topic-partition`."""
        return self._observer.worker.call(ObserverRole.committed(group))

    def await_committed_above(
        self, group: str, before: dict[str, int], *, timeout_seconds: float = _STATE_SECONDS
    ) -> None:
        """Wait until a group has committed beyond these offsets on each of their partitions.

        Raises:
            WaitTimeoutError: it has not; shows its committed offsets.
        """
        last: dict[str, int] = {}

        def probe() -> bool:
            last.update(self.committed(group))
            return all(last.get(partition, -1) > offset for partition, offset in before.items())

        self._observer.await_that(
            probe,
            what=f"{group} to commit beyond {before}",
            timeout_seconds=timeout_seconds,
            last_seen=lambda: last,
        )
